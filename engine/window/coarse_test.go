// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

// forCoarse runs a test with both kinds of cells.
func forCoarse(t *testing.T, test func(t *testing.T, fine bool)) {
	for _, fine := range []bool{false, true} {
		t.Run(coarseShapeOf(fine).method, func(t *testing.T) { test(t, fine) })
	}
}

// TestCoarseEqualsExact has times that are multiples of a tick, and lines that never fill.
func TestCoarseEqualsExact(t *testing.T) {
	forCoarse(t, func(t *testing.T, fine bool) {
		texts := []string{"100ns", "3us", "200us", "1ms", "1s", "n:1", "n:30", "n:127"}
		if fine {
			texts = []string{"30ns", "31us", "310us", "310ms", "n:1", "n:30", "n:31"}
		}
		for _, text := range texts {
			w := mustWindow(t, text)
			for name, next := range check.Clocks(max(int64(w.Duration), 100)) {
				for _, refresh := range []bool{false, true} {
					c := newCoarse(t, CoarseConfig{Window: w, Fine: fine, Memory: ample, Refresh: refresh})
					s := check.RandomPackets(7, 6000, next)
					s.Round(int64(c.tick.by))
					exact := newExact(t, TimedConfig{Window: w, Refresh: refresh})
					got, want := s.Verdicts(c, 1000), s.Verdicts(exact, 1000)
					copies := 0
					for i := range want {
						if got[i] != want[i] {
							t.Fatalf("%s, %s: packet %d: copy %v, want %v", text, name, i, got[i], want[i])
						}
						if want[i] {
							copies++
						}
					}
					if copies == 0 || copies == len(want) {
						t.Errorf("%s, %s: %d copies: the stream tests nothing", text, name, copies)
					}
				}
			}
		}
	})
}

// TestCoarseWindow places a copy at distances around the end of the window: it is found
// up to there, and not beyond EdgeError.
func TestCoarseWindow(t *testing.T) {
	forCoarse(t, func(t *testing.T, fine bool) {
		most := 0.0158
		if fine {
			most = 0.065
		}
		for _, text := range []string{"1ns", "31ns", "127ns", "128ns", "131ns", "1ms", "1s", "5m", "1h", "999999937ns", "n:1", "n:871", "n:1000", "n:1009"} {
			checkCoarseWindow(t, mustWindow(t, text), fine, most)
		}
	})
}

// checkCoarseWindow also checks that the error is at most the greatest of any window.
func checkCoarseWindow(t *testing.T, w Window, fine bool, greatest float64) {
	t.Helper()
	size := int64(w.Duration) + w.Packets
	beyond := newCoarse(t, CoarseConfig{Window: w, Fine: fine, Memory: 64}).Stats().EdgeError
	if beyond > greatest {
		t.Errorf("%s: edge error %v", w, beyond)
	}
	most := size + int64(math.Round(beyond*float64(size)))
	for distance := range map[int64]bool{1: true, size / 2: true, size - 1: true, size: true, most + 1: true, most + 7: true, 2 * size: true} {
		for phase := range int64(40) {
			if distance < 1 {
				continue
			}
			f := newCoarse(t, CoarseConfig{Window: w, Fine: fine, Memory: 6400})
			start := 1_700_000_000_000_000_000 + phase*(size/37+1)
			isCopy := coarseTwin(f, w, start, distance)
			if distance <= size && !isCopy || distance > most && distance < 2*size && isCopy {
				t.Errorf("%s: distance %d of at most %d: copy %v", w, distance, most, isCopy)
			}
		}
	}
}

// coarseTwin reports whether an element is a copy of one at the given distance before it.
func coarseTwin(f *Coarse, w Window, start, distance int64) bool {
	times, d, seen := []int64{start, start + distance}, []digest.Digest{{1 << 60, 5}, {1 << 60, 5}}, make([]uint64, 1)
	if w.Packets > 0 {
		others := make([]digest.Digest, start%1000+1)
		f.TestAndSet(make([]uint64, len(others)/64+1), others, make([]int64, len(others)), nil)
		d = append(d[:1], make([]digest.Digest, distance)...)
		for i := range d[1:] {
			d[i+1] = digest.Digest{0, math.MaxUint64} // in another line
		}
		d[distance] = d[0]
		times, seen = make([]int64, len(d)), make([]uint64, len(d)/64+1)
	}
	f.TestAndSet(seen, d, times, nil)
	return seen[(len(d)-1)/64]>>((len(d)-1)%64)&1 == 1
}

// TestCoarseFPR fills lines with fingerprints of few different bits: the rate equals that
// of full lines and of full spare lines, which all elements ask. In proportion the filter
// predicts the same.
func TestCoarseFPR(t *testing.T) {
	forCoarse(t, func(t *testing.T, fine bool) {
		const bits, n, warm, lines = 12, 100_000, 8000, 64
		f := newCoarse(t, CoarseConfig{Window: Window{Packets: 1 << 40}, Fine: fine, Memory: lines * layout.LineSize})
		rng := rand.New(rand.NewPCG(12, 12))
		s := &check.Packets{}
		for range warm + n {
			s.Add(digest.Digest{(1 + rng.Uint64N(1<<bits-1)) << (64 - bits), rng.Uint64()}, 0, 0)
		}
		false1 := 0
		for _, isCopy := range s.Verdicts(f, 1000)[warm:] {
			if isCopy {
				false1++
			}
		}
		width := layout.CoarseFingerprintBits
		if fine {
			width = layout.FineFingerprintBits
		}
		predicted := f.Stats().PredictedFPR
		if full := 2 * coarseShapeOf(fine).fpr; predicted < 0.9*full || predicted > full {
			t.Errorf("predicted %v with full lines, of at most %v", predicted, full)
		}
		low, high := binomialBounds(n, predicted*float64(uint64(1)<<width)/(1<<bits-1), 1e-6)
		if false1 < low || false1 > high {
			t.Errorf("%d false positives of %d, outside of [%d, %d] (confidence 1 - 1e-6)", false1, n, low, high)
		}
	})
}

// TestCoarseLate: time that goes back by more than a window is counted, wherever the
// stream is cut, and a wrong time makes no others late.
func TestCoarseLate(t *testing.T) {
	w := Window{Duration: time.Millisecond}
	s := &check.Packets{}
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range 5000 {
		at := int64(i) * 1000
		switch {
		case i == 1000:
			at = 1 << 60
		case i >= 3000:
			at -= 2_500_000
		}
		s.Add(digest.Digest{rng.Uint64(), rng.Uint64()}, at, 0)
	}
	for _, batch := range []int{1, 64, 5000} {
		f := newCoarse(t, CoarseConfig{Window: w, Fine: batch == 64, Memory: 1 << 20})
		s.Verdicts(f, batch)
		if late := f.Stats().Late; late.Elements < 1300 || late.Elements > 1500 || late.First != 3001 || late.By < 2*time.Millisecond || late.By > 3*time.Millisecond {
			t.Errorf("batches of %d: %+v", batch, late)
		}
	}
}
