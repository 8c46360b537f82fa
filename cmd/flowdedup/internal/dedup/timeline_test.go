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

// TestTimeline compares the bins with a count of all times, for streams that go forward,
// backward and anywhere.
func TestTimeline(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name string
		at   func(i int) int64
	}{
		{"forward", func(i int) int64 { return 1_700_000_000_000_000_000 + int64(i)*7_654_321 }},
		{"backward", func(i int) int64 { return 1_700_000_000_000_000_000 - int64(i)*7_654_321 }},
		{"around 1970", func(int) int64 { return random.Int64N(2e12) - 1e12 }},
		{"one time", func(int) int64 { return 5 }},
		{"far apart", func(i int) int64 { return int64(i%2) * 4e17 }},
	} {
		var line Timeline
		var times []int64
		const n = 5000
		for i := 0; i < n; i += 100 {
			b := &capture.Batch{}
			drop := make([]uint64, 2)
			for k := range 100 {
				at := c.at(i + k)
				times = append(times, at)
				b.Frames = append(b.Frames, capture.Frame{Time: at})
				if at%3 == 0 {
					drop[k/64] |= 1 << (k % 64)
				}
			}
			line.add(b, drop)
		}
		if len(line.Bins) > maxBins {
			t.Errorf("%s: %d bins", c.name, len(line.Bins))
		}
		want := make([]timelineBin, len(line.Bins))
		for _, at := range times {
			i := int((at - line.Start) / int64(line.Width))
			want[i].Packets++
			if at%3 == 0 {
				want[i].Copies++
			}
		}
		for i := range want {
			if line.Bins[i] != want[i] {
				t.Fatalf("%s: bin %d of %d has %+v, want %+v", c.name, i, len(want), line.Bins[i], want[i])
			}
		}
	}
}

// TestTimelineHostile checks that no time makes the bins many, and that times too far
// apart are left out.
func TestTimelineHostile(t *testing.T) {
	var line Timeline
	for _, at := range []int64{0, math.MaxInt64, math.MinInt64 + 1, capture.NoTime, 1, -1, 1 << 62, -1 << 62} {
		line.add(&capture.Batch{Frames: []capture.Frame{{Time: at}}}, []uint64{1})
		if len(line.Bins) > maxBins {
			t.Fatalf("%d: %d bins", at, len(line.Bins))
		}
	}
}

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
