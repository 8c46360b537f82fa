// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/sizing/sizingtest"
	"github.com/flowdedup/flowdedup/engine/window"
)

// newElements has a filter take n new elements, at a steady rate of inWindow in a window.
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

// TestTimedModel compares the evictions of filters with the model, at loads of 2.5 to 9
// live elements a line, in windows of elements and of time.
func TestTimedModel(t *testing.T) {
	const lines, n = 6500, 600_000
	for _, load := range []float64{2.5, 2.75, 3, 3.3, 3.7, 4, 4.5, 5, 5.5, 6.2, 7, 8, 9} {
		size := int(load * float64(lines-window.SpareLines(lines)))
		for _, w := range []window.Window{{Packets: int64(size)}, {Duration: time.Hour}} {
			live := load
			if w.Packets == 0 {
				live *= lateness(load)
			}
			f := newElements(t, window.TimedConfig{Window: w, Memory: lines * lineBits / 8}, n, size)
			judged := float64(n - size - size/2) // elements evicted by the end
			what := fmt.Sprintf("load %v, window %v", load, w)
			sizingtest.Near(t, what, window.TimedModel().Lost(live)(1), float64(f.Stats().EvictedLive)/judged, 0.1, judged/3, false)
		}
	}
}

// TestTimedNeeds measures misses in an eighth less and a tenth more memory than a plan's
// need.
func TestTimedNeeds(t *testing.T) {
	const elements, size = 300_000, 20_000
	s := lagged(elements, size, 0.6)
	for _, fnr := range []float64{0.1, 0.03, 0.01, 0.003} {
		q := s.question
		q.Kind, q.Elements, q.FNR = Count, size, fnr
		c := planned(t, q, "timed")
		for _, part := range []float64{0.875, 1.1} {
			_, _, got, _ := rates(t, c, q, int(part*float64(c.NeededBits)/8), s.elements, 2*size)
			if (got > fnr) != (part < 1) {
				t.Errorf("FNR %v needs %d bits by plan: in %v times as many it is %v", fnr, c.NeededBits, part, got)
			}
		}
	}
}

// TestSuggestedMemory compares the memory that a filter which is too small suggests with
// the need of its stream: the default for it.
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

// TestTimed compares timed rows with window.Timed, over a window of elements and over an
// unbounded stream.
func TestTimed(t *testing.T) {
	const elements, size = 120_000, 2000
	s := sizingtest.NewStream(elements, 0.6, size, 9)
	distinct, gaps := load(s, size)
	for _, kind := range []Kind{Count, Unbounded} {
		q := Question{Kind: kind, Elements: size, Distinct: distinct, Gaps: gaps, MemoryBits: 300 * lineBits, Refresh: true}
		p := planned(t, q, "timed")
		says, _, fnr, repeats := rates(t, p, q, p.Bits/8, s.Elements, size)
		sizingtest.Near(t, kind.String()+" FNR", p.FNR, fnr, 0.03, repeats, false)
		if p.FPR != says.PredictedFPR {
			t.Errorf("%v FPR %g, the filter says %g", kind, p.FPR, says.PredictedFPR)
		}
	}
}

// TestCoarse compares rows of coarse and of fine cells with window.Coarse, over windows of
// elements: all rates.
func TestCoarse(t *testing.T) {
	const elements, size = 150_000, 10_000
	s := sizingtest.NewStream(elements, 0.6, size, 9)
	distinct, gaps := load(s, size)
	for _, c := range []struct {
		method  string
		refresh bool
		lines   int
	}{
		{"coarse", false, 450}, {"coarse", false, 550}, {"coarse", true, 450}, {"coarse", true, 550},
		{"fine", false, 500}, {"fine", false, 700}, {"fine", true, 500}, {"fine", true, 700},
	} {
		q := Question{Kind: Count, Elements: size, Distinct: distinct, Gaps: gaps, MemoryBits: c.lines * lineBits, FPR: 1e-5, Refresh: c.refresh}
		p := planned(t, q, c.method)
		says, _, fnr, copies := rates(t, p, q, p.Bits/8, s.Elements, size)
		off := 0.1
		if c.refresh {
			off = 0.25
		}
		name := fmt.Sprintf("%s of %d lines, refresh %v: ", c.method, c.lines, c.refresh)
		sizingtest.Near(t, name+"FNR", p.FNR, fnr, off, copies, false)
		if p.Edge != says.EdgeError || math.Abs(p.FPR/says.PredictedFPR-1) > 0.02 {
			t.Errorf("%sFPR %g and edge error %g, the filter says %g and %g", name, p.FPR, p.Edge, says.PredictedFPR, says.EdgeError)
		}
	}
}
