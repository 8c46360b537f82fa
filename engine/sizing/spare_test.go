// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/window"
)

// newElements has a filter take so many new elements, at a steady rate of so many in a
// window.
func newElements(t *testing.T, cfg window.TimedConfig, n, inWindow int) *window.Timed {
	t.Helper()
	f, err := window.NewTimed(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	const batch = 4096
	seen, digests, times := make([]uint64, batch/64), make([]digest.Digest, batch), make([]int64, batch)
	for i := 0; i < n; i += batch {
		for j := range digests {
			digests[j] = digest.Digest{rng.Uint64(), rng.Uint64()}
			times[j] = int64(float64(i+j) / float64(inWindow) * float64(cfg.Window.Duration))
		}
		f.TestAndSet(seen, digests, times, nil)
	}
	return f
}

// TestSpareTable compares what filters evict with the model, at loads of 2.5 to 9 live
// elements a line, in windows of elements and of time.
func TestSpareTable(t *testing.T) {
	const lines, n = 13_000, 1_500_000
	for _, load := range []float64{2.5, 2.75, 3, 3.3, 3.7, 4, 4.5, 5, 5.5, 6.2, 7, 8, 9} {
		rows := spareRows{lines: float64(lines - window.SpareLines(lines)), inOrder: true}
		size := int(load * rows.lines)
		for _, w := range []window.Window{{Packets: int64(size)}, {Duration: time.Hour}} {
			rows.inOrder = w.Packets > 0
			f := newElements(t, window.TimedConfig{Window: w, Memory: lines * lineBits / 8}, n, size)
			judged := float64(n - size - size/2) // those that were evicted by the end
			what := fmt.Sprintf("load %v, window %v", load, w)
			near(t, what, rows.miss(float64(size), float64(size)), float64(f.Stats().EvictedLive)/judged, 0.1, judged/3, false)
		}
	}
}

// TestSpareMiss interpolates between the loads and ages of the table, and beyond them.
func TestSpareMiss(t *testing.T) {
	for i := range spareTable {
		row := &spareTable[i]
		for at, want := range row.forgotten {
			if got := spareMiss(row.load, float64(at+1)/spareAges); math.Abs(got/want-1) > 1e-9 {
				t.Errorf("load %v, age %d/16: %v, the table has %v", row.load, at+1, got, want)
			}
		}
	}
	last := 0.0
	for load := 0.25; load < 1000; load *= 1.1 {
		miss := spareMiss(load, 1)
		if miss < last || miss < 0 || miss > 1 {
			t.Errorf("load %v: %v after %v", load, miss, last)
		}
		last = miss
	}
	if last < 0.999 || spareMiss(0, 1) != 0 || spareMiss(3, 0) != 0 || spareMiss(2, 1) > 1e-5 {
		t.Errorf("a load of 1000 misses %v", last)
	}
}

// TestTimedNeeds measures misses in a tenth less and a tenth more memory than a plan says is
// needed.
func TestTimedNeeds(t *testing.T) {
	const elements, size = 600_000, 40_000
	s := lagged(elements, size, 0.6)
	for _, fnr := range []float64{0.1, 0.03, 0.01, 0.003} {
		q := s.question
		q.Kind, q.Elements, q.Method, q.FNR = Count, size, "timed", fnr
		c := planned(t, q, "timed")
		for _, part := range []float64{0.9, 1.1} {
			f, err := window.NewTimed(window.TimedConfig{Window: window.Window{Packets: size}, Memory: int(part * float64(c.NeededBits) / 8)})
			if err != nil {
				t.Fatal(err)
			}
			_, got, _, _ := anchoredRates(t, f, s.elements, size, 0, 2*size)
			f.Close()
			if (got > fnr) != (part < 1) {
				t.Errorf("FNR %v needs %d bits by plan: in %v times as many it is %v", fnr, c.NeededBits, part, got)
			}
		}
	}
}

// TestSuggestedMemory compares the memory that a filter which is too small suggests with
// the need of its stream: what a default for it would be.
func TestSuggestedMemory(t *testing.T) {
	for _, inWindow := range []int{20_000, 50_000, 100_000} {
		for _, w := range []window.Window{{Packets: int64(inWindow)}, {Duration: time.Second}} {
			f := newElements(t, window.TimedConfig{Window: w, Memory: 8 * inWindow}, 5*inWindow, inWindow)
			want := 31.5 * float64(inWindow)
			if got := f.Stats().SuggestedMemory; math.Abs(float64(got)/want-1) > 0.1 {
				t.Errorf("%d elements in %v: %d bytes suggested, want about %.0f", inWindow, w, got, want)
			}
			again := newElements(t, window.TimedConfig{Window: w, Memory: f.Stats().SuggestedMemory}, 5*inWindow, inWindow).Stats()
			if again.EvictedLive > uint64(5*inWindow/20_000) || again.SuggestedMemory != 0 {
				t.Errorf("in the memory that was suggested: %+v", again)
			}
		}
	}
}
