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
			f, err := window.NewTimed(window.TimedConfig{Window: window.Window{Packets: size}, Memory: int(part * float64(c.NeededBits) / 8)})
			if err != nil {
				t.Fatal(err)
			}
			_, got, _, _ := sizingtest.AnchoredRates(f, s.elements, size, 0, 2*size)
			f.Close()
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
	for _, c := range []struct {
		kind   Kind
		window window.Window
	}{{Count, window.Window{Packets: size}}, {Unbounded, window.Window{None: true}}} {
		distinct, gaps := load(s, size)
		const memory = 300 * lineBits
		p := planned(t, Question{Kind: c.kind, Elements: size, Distinct: distinct, Gaps: gaps, MemoryBits: memory, Refresh: true}, "timed")
		filter, err := window.NewTimed(window.TimedConfig{Window: c.window, Memory: memory / 8, Refresh: true})
		if err != nil {
			t.Fatal(err)
		}
		defer filter.Close()
		seen := make([]uint64, (elements+63)/64)
		filter.TestAndSet(seen, s.Elements, make([]int64, elements), nil)
		missed, repeats := 0.0, 0.0
		for i, g := range s.Gap {
			if i >= size && g > 0 {
				repeats++
				if seen[i/64]>>(i%64)&1 == 0 {
					missed++
				}
			}
		}
		sizingtest.Near(t, c.kind.String()+" FNR", p.FNR, missed/repeats, 0.03, repeats, false)
		if got, want := p.FPR, filter.Stats().PredictedFPR; got != want {
			t.Errorf("%v FPR %g, the filter says %g", c.kind, got, want)
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
		p := planned(t, Question{
			Kind: Count, Elements: size, Distinct: distinct, Gaps: gaps, MemoryBits: c.lines * lineBits, FPR: 1e-5, Refresh: c.refresh,
		}, c.method)
		filter, err := window.NewCoarse(window.CoarseConfig{
			Window: window.Window{Packets: size}, Fine: c.method == "fine", Memory: c.lines * lineBits / 8, Refresh: c.refresh,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer filter.Close()
		name := fmt.Sprintf("%s of %d lines, refresh %v: ", c.method, c.lines, c.refresh)
		if c.refresh {
			fnr, repeats := refreshedMisses(s, filter, size)
			sizingtest.Near(t, name+"FNR", p.FNR, fnr, 0.25, repeats, false)
		} else {
			blur := size/64 + 1
			if c.method == "fine" {
				blur = size/31 + 1
			}
			_, fnr, _, copies := sizingtest.AnchoredRates(filter, s.Elements, size, blur, size)
			sizingtest.Near(t, name+"FNR", p.FNR, fnr, 0.1, copies, false)
		}
		st := filter.Stats()
		if p.Edge != st.EdgeError || math.Abs(p.FPR/st.PredictedFPR-1) > 0.02 {
			t.Errorf("%sFPR %g and edge error %g, the filter says %g and %g", name, p.FPR, p.Edge, st.PredictedFPR, st.EdgeError)
		}
	}
}
