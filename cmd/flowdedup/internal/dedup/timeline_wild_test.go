// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// TestTimelineWild counts packets whose times a file has made up, anywhere in 64 bits and in any
// order: each that has a bin is in the right one.
func TestTimelineWild(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	edges := []int64{math.MinInt64 + 1, math.MinInt64 + 2, -1 << 62, -1, 0, 1, 1_700_000_000_000_000_000, 1 << 62, math.MaxInt64 - 1}
	for round := range 2000 {
		var line Timeline
		var times []int64
		for range 1 + rng.IntN(12) {
			at := edges[rng.IntN(len(edges))]
			if rng.IntN(3) == 0 {
				at = max(int64(rng.Uint64()), math.MinInt64+1)
			}
			times = append(times, at)
		}
		b := &capture.Batch{}
		for _, at := range times {
			b.Frames = append(b.Frames, capture.Frame{Time: at})
		}
		line.add(b, make([]uint64, 1))
		counted := uint64(0)
		for _, bin := range line.Bins {
			counted += bin.Packets
		}
		if counted > uint64(len(times)) || len(line.Bins) > maxBins {
			t.Fatalf("round %d: %d packets in %d bins of %v, of times %d", round, counted, len(line.Bins), line.Width, times)
		}
		if low, high := slices.Min(times), slices.Max(times); low > -1<<60 && high < 1<<60 && counted != uint64(len(times)) {
			t.Fatalf("round %d: %d packets of times %d", round, counted, times)
		}
		if line.Width%time.Millisecond != 0 {
			t.Fatalf("bins of %v", line.Width)
		}
	}
}
