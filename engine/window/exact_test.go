// SPDX-License-Identifier: Apache-2.0

package window

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestExactWindowPrunes compares a filter that prunes with one that never does, on a
// stream that is out of order by twice the window.
func TestExactWindowPrunes(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, text := range []string{"1ms", "n:5000"} {
		rng := rand.New(rand.NewPCG(17, 17))
		s := &check.Packets{}
		for i := range 8 * pruneSpan {
			d := digest.Digest{rng.Uint64(), rng.Uint64()}
			if i > 5000 && rng.IntN(4) == 0 {
				d = s.Digests[i-1-rng.IntN(5000)]
			}
			at := int64(i)*200 + rng.Int64N(2_000_000)
			if i%100_000 == 50_000 { // a clock that is wrong for a moment
				at = []int64{math.MaxInt64, math.MinInt64 + 1, 0}[rng.IntN(3)]
			}
			s.Add(d, at, 0)
		}
		cfg := TimedConfig{Window: mustWindow(t, text), Memory: 1}
		pruning, whole := newExact(t, cfg), newExact(t, cfg)
		whole.pruneAt = math.MaxInt
		got, want := s.Verdicts(pruning, 1000), s.Verdicts(whole, 1000)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("window %s: packet %d: copy %v, want %v", text, i, got[i], want[i])
			}
		}
		if pruning.kept.len > 4*pruneSpan || whole.kept.len < 6*pruneSpan {
			t.Errorf("window %s: %d elements of %d after pruning", text, pruning.kept.len, whole.kept.len)
		}
	}
}

// Where time goes back, nothing is forgotten as long as there is memory. Beyond that,
// forgotten elements are counted, and nothing else is missed.
func TestExactWindowGoesBack(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const n = 6 * pruneSpan
	s := uniquePackets(n, 1000)
	for i := range n {
		s.Add(s.Digests[i], s.Times[i]+100, 0)
	}
	for _, memory := range []int{0, 1} {
		f := newExact(t, TimedConfig{Window: mustWindow(t, "1ms"), Memory: memory})
		missed := 0
		for _, isCopy := range s.Verdicts(f, 1000)[n:] {
			if !isCopy {
				missed++
			}
		}
		late := f.Stats().Late
		if memory == 0 && (missed != 0 || late != engine.LateStats{}) {
			t.Errorf("%d copies missed with memory for all, %+v", missed, late)
		}
		if memory == 1 && (missed == 0 || late.Elements < uint64(missed) || late.First != n+1 || late.By < 250*time.Millisecond) {
			t.Errorf("%d copies missed, told of %+v", missed, late)
		}
	}
}

func TestExactWindowNear(t *testing.T) {
	f := newExact(t, TimedConfig{Window: Window{Duration: 10}})
	if first, last := f.timesWorthKeeping(); first != math.MinInt64 || last != math.MaxInt64 {
		t.Errorf("without a sample: %d to %d", first, last)
	}
	for i := range int64(32) {
		f.recent[i] = 100 + i
	}
	f.recent[3], f.recent[30] = math.MinInt64+1, math.MaxInt64
	f.sampled = 32
	if first, last := f.timesWorthKeeping(); first != 101-20 || last != 129+20 {
		t.Errorf("100 to 131 and two wild times: %d to %d", first, last)
	}
	f.cfg.Window.Duration = math.MaxInt64
	if first, last := f.timesWorthKeeping(); first != math.MinInt64 || last != math.MaxInt64 {
		t.Errorf("a window of all times: %d to %d", first, last)
	}
}

// TestExactSetAside compares a filter that sets elements aside with a filter that sets none aside.
func TestExactSetAside(t *testing.T) {
	const n = 80_000
	rng := rand.New(rand.NewPCG(19, 58))
	for name, c := range map[string]struct {
		digests int // to choose from
		time    func(i int) int64
	}{
		"in order":  {n * 1000, func(i int) int64 { return int64(i) * 1000 }},
		"jitter":    {n, func(i int) int64 { return int64(i)*1000 + rng.Int64N(2_000_000) }},
		"repeats":   {100, func(i int) int64 { return int64(i) * 1000 }},
		"again":     {n / 2, func(i int) int64 { return int64(i) * 1000 }},
		"goes back": {n, func(i int) int64 { return int64(i%(n/2)) * 1000 }},
		"stands":    {n, func(int) int64 { return 5 }},
		"wrong": {n, func(i int) int64 {
			return []int64{int64(i) * 1000, math.MaxInt64 - int64(i), math.MinInt64 + 1, 0}[rng.IntN(1000)/998*rng.IntN(4)]
		}},
	} {
		for _, text := range []string{"1us", "1ms", "n:5", "none"} {
			for _, refresh := range []bool{false, true} {
				s := &check.Packets{}
				for i := range n {
					d := digest.Digest{uint64(rng.IntN(c.digests)) * layout.Golden, uint64(rng.IntN(2))}
					if i > 5 && rng.IntN(4) == 0 {
						d = s.Digests[i-1-rng.IntN(5)]
					}
					s.Add(d, c.time(i), uint32(rng.IntN(2)))
				}
				cfg := TimedConfig{Window: mustWindow(t, text), Refresh: refresh, Across: refresh}
				f, whole := newExact(t, cfg), newExact(t, cfg)
				whole.kept.wholeTo = math.MaxInt
				got, want := s.Verdicts(f, 1000), s.Verdicts(whole, 1000)
				for i := range want {
					if got[i] != want[i] {
						t.Fatalf("%s, window %s: packet %d: copy %v, want %v", name, text, i, got[i], want[i])
					}
				}
				if all := f.kept.len; name == "in order" && text != "none" && f.kept.first < all-asideIndex || whole.kept.first > 0 {
					t.Errorf("%s, window %s: %d and %d elements of %d aside", name, text, f.kept.first, whole.kept.first, all)
				}
				if got, want := f.kept.len, whole.kept.len; got > want+want/asideAgain+64/asideAgain*asideEvery {
					t.Errorf("%s, window %s: %d elements, not %d", name, text, got, want)
				}
			}
		}
	}
}
