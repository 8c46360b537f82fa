// SPDX-License-Identifier: Apache-2.0

package window

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

func newCoarse(t testing.TB, c CoarseConfig) *Coarse {
	t.Helper()
	f, err := NewCoarse(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

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

// TestCoarseBatches cuts a stream into calls of some sizes: verdicts, memory and statistics
// stay the same, for a filter that grows, too.
func TestCoarseBatches(t *testing.T) {
	forCoarse(t, func(t *testing.T, fine bool) {
		for _, text := range []string{"1ms", "50ms", "n:700"} {
			for _, name := range []string{"in order", "out of order", "jumps"} {
				s := check.RandomPackets(12, 6000, check.Clocks(100_000)[name])
				for i := range 4 {
					cfg := CoarseConfig{Window: mustWindow(t, text), Fine: fine, Memory: 30 * layout.LineSize, Refresh: i&1 != 0, Limit: i / 2 << 20}
					one := newCoarse(t, cfg)
					want := s.Verdicts(one, 1)
					for _, batch := range []int{7, 64, 700, 5000, len(s.Digests)} {
						f := newCoarse(t, cfg)
						if !slices.Equal(s.Verdicts(f, batch), want) || !slices.Equal(f.rows.arena.Lines(), one.rows.arena.Lines()) || f.Stats() != one.Stats() {
							t.Errorf("window %s, batches of %d: other verdicts or memory, or %+v, want %+v", text, batch, f.Stats(), one.Stats())
						}
					}
				}
			}
		}
	})
}

// TestCoarseGolden pins the verdicts, which must be the same on every CPU.
func TestCoarseGolden(t *testing.T) {
	want := map[string]string{
		"coarse 1ms": "697153ff", "coarse 1s": "4608d61f", "coarse n:300": "1300dfc1", "fine 1ms": "697153ff", "fine 1s": "7e071bc1", "fine n:300": "414bf9ed",
	}
	forCoarse(t, func(t *testing.T, fine bool) {
		for _, text := range []string{"1ms", "1s", "n:300"} {
			f := newCoarse(t, CoarseConfig{Window: mustWindow(t, text), Fine: fine, Memory: 100 * layout.LineSize})
			h := fnv.New32a()
			for _, isCopy := range check.RandomPackets(11, 5000, check.Clocks(100_000)["jumps"]).Verdicts(f, 512) {
				fmt.Fprint(h, isCopy)
			}
			fmt.Fprint(h, f.Stats().EvictedLive)
			name := f.Stats().Method + " " + text
			if got := fmt.Sprintf("%08x", h.Sum32()); got != want[name] {
				t.Errorf("%s: verdicts %s, want %s", name, got, want[name])
			}
		}
	})
}

func TestCoarseHostile(t *testing.T) {
	ends := []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt64 + 2, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}
	for _, w := range []Window{{Duration: 1}, {Duration: 1e6}, {Duration: math.MaxInt64 - 1}, {Duration: math.MaxInt64}, {Packets: math.MaxInt64}} {
		f := newCoarse(t, CoarseConfig{Window: w, Fine: w.Duration%2 == 0, Memory: 1 << 12, Limit: 1 << 16})
		rng := rand.New(rand.NewPCG(9, 9))
		s := &check.Packets{}
		for range 4000 {
			d, at := rng.Uint64N(60), ends[rng.IntN(len(ends))]
			if rng.IntN(4) == 0 {
				at = int64(rng.Uint64())
			}
			s.Add(digest.Digest{d * 0x9e3779b97f4a7c15, d * 0xbf58476d1ce4e5b9}, at, 0)
		}
		for i, isCopy := range s.Verdicts(f, 64) {
			if isCopy && w.Packets == 0 && s.Times[i] == calendar.NoTime {
				t.Errorf("%s: packet %d without a time is a copy", w, i)
			}
		}
		f.Stats()
	}
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

func TestNewCoarseErrors(t *testing.T) {
	w := Window{Duration: Default}
	for _, c := range []struct {
		cfg  CoarseConfig
		want error
	}{
		{CoarseConfig{Memory: 64}, engine.ErrWindow},
		{CoarseConfig{Memory: 64, Window: Window{None: true}}, engine.ErrWindow},
		{CoarseConfig{Memory: 63, Window: w}, engine.ErrMemory},
		{CoarseConfig{Memory: 64, Limit: -1, Window: w}, engine.ErrMemory},
		{CoarseConfig{Memory: math.MaxInt, Window: w}, layout.ErrArenaSize},
	} {
		if _, err := NewCoarse(c.cfg); !errors.Is(err, c.want) {
			t.Errorf("%+v: error %v, want %v", c.cfg, err, c.want)
		}
	}
	st := newCoarse(t, CoarseConfig{Memory: 200, Window: w}).Stats()
	if st.PredictedFPR != CoarseFPR || st.EdgeError == 0 || st.MemoryBytes != 192 || st.Method != "coarse" {
		t.Errorf("%+v", st)
	}
}

func TestCoarseAllocations(t *testing.T) {
	s := check.RandomPackets(13, 2000, check.Clocks(100_000)["in order"])
	seen := make([]uint64, 32)
	for _, text := range []string{"1ms", "1s", "n:50"} {
		f := newCoarse(t, CoarseConfig{Window: mustWindow(t, text), Fine: text == "1s", Memory: 1 << 16})
		if n := testing.AllocsPerRun(5, func() { f.TestAndSet(seen, s.Digests, s.Times, nil) }); n != 0 {
			t.Errorf("window %s: %v allocations a batch", text, n)
		}
	}
}
