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

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

// ample is memory in which the test streams never fill a line.
const ample = 4 << 20

func TestTimedEqualsExact(t *testing.T) {
	for _, text := range []string{"3us", "200us", "n:1", "n:30", "n:1000", "none"} {
		w := mustWindow(t, text)
		for name, next := range check.Clocks(max(int64(w.Duration), 1000)) {
			t.Run(text+"/"+name, func(t *testing.T) {
				eachMode(t, func(t *testing.T, refresh, across bool) {
					cfg := TimedConfig{Window: w, Memory: ample, Refresh: refresh, Across: across}
					s := check.RandomPackets(7, 6000, next)
					timed, exact := newTimed(t, cfg), newExact(t, cfg)
					s.Round(int64(timed.tick.by))
					got, want := s.Verdicts(timed, 1000), s.Verdicts(exact, 1000)
					copies := 0
					for i := range want {
						if got[i] != want[i] {
							t.Fatalf("packet %d: copy %v, want %v", i, got[i], want[i])
						}
						if want[i] {
							copies++
						}
					}
					if copies == 0 || copies == len(want) {
						t.Errorf("%d copies: the stream tests nothing", copies)
					}
					if !refresh {
						checkTwins(t, s, got, w, across, tickingOf(timed))
					}
				})
			})
		}
	}
}

func TestTimedFull(t *testing.T) {
	for _, text := range []string{"1ms", "n:500", "none"} {
		w := mustWindow(t, text)
		for name, next := range check.Clocks(1_000_000 / 50) {
			t.Run(text+"/"+name, func(t *testing.T) {
				for _, across := range []bool{false, true} {
					cfg := TimedConfig{Window: w, Memory: 4 * layout.LineSize, Across: across}
					s := check.RandomPackets(8, 6000, next)
					f := newTimed(t, cfg)
					got := s.Verdicts(f, 500)
					checkTwins(t, s, got, w, across, tickingOf(f))
					if w.Duration == 0 || name == "in order" {
						if st := f.Stats(); st.EvictedLive == 0 || st.SuggestedMemory <= st.MemoryBytes {
							t.Errorf("full memory: %+v", st)
						}
					}
				}
			})
		}
	}
}

// TestTimedHostile uses times from all of an int64.
func TestTimedHostile(t *testing.T) {
	ends := []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt64 + 2, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}
	for _, w := range []Window{
		{Duration: 1}, {Duration: 1e6}, {Duration: 1e9}, {Duration: math.MaxInt64 - 1}, {Duration: math.MaxInt64},
		{Packets: math.MaxInt64}, {None: true},
	} {
		t.Run(w.String(), func(t *testing.T) {
			for _, across := range []bool{false, true} {
				f := newTimed(t, TimedConfig{Window: w, Memory: 1 << 14, Across: across})
				e := newExact(t, TimedConfig{Window: w, Across: across})
				rng := rand.New(rand.NewPCG(9, 9))
				s := &check.Packets{}
				for range 4000 {
					d := rng.Uint64N(60)
					at := ends[rng.IntN(len(ends))]
					if rng.IntN(4) == 0 {
						at = int64(rng.Uint64())
					}
					s.Add(digest.Digest{d * 0x9e3779b97f4a7c15, d * 0xbf58476d1ce4e5b9}, at, rng.Uint32N(400))
				}
				checkTwins(t, s, s.Verdicts(f, 64), w, across, tickingOf(f))
				checkTwins(t, s, s.Verdicts(e, 64), w, across, ticking{})
			}
		})
	}
}

func TestTimedBatchSizes(t *testing.T) {
	for _, text := range []string{"1ms", "50ms", "n:70", "none"} {
		cfg := TimedConfig{Window: mustWindow(t, text), Memory: 16 * layout.LineSize}
		s := check.RandomPackets(10, 3000, check.Clocks(100_000)["jumps"])
		var want []bool
		var stats engine.PacketStats
		for _, batch := range []int{1, 7, 64, 1000, 3000} {
			f := newTimed(t, cfg)
			got := s.Verdicts(f, batch)
			if want == nil {
				want, stats = got, f.Stats()
			}
			if !slices.Equal(got, want) || f.Stats() != stats {
				t.Errorf("window %s: batches of %d: other verdicts, or %+v, want %+v", text, batch, f.Stats(), stats)
			}
			if exact := newExact(t, cfg); !slices.Equal(s.Verdicts(exact, batch), s.Verdicts(newExact(t, cfg), 1)) {
				t.Errorf("window %s: batches of %d: other exact verdicts", text, batch)
			}
		}
	}
}

// TestTimedGolden pins the verdicts, which must be the same on every CPU.
func TestTimedGolden(t *testing.T) {
	for text, want := range map[string]string{
		"1ms": "e8ad8aee", "1s": "50380837", "n:300": "5c81bc7d", "none": "e70402ba",
	} {
		h := fnv.New32a()
		for _, across := range []bool{false, true} {
			f := newTimed(t, TimedConfig{Window: mustWindow(t, text), Memory: 100 * layout.LineSize, Across: across})
			for _, isCopy := range check.RandomPackets(11, 5000, check.Clocks(100_000)["jumps"]).Verdicts(f, 512) {
				fmt.Fprint(h, isCopy)
			}
			fmt.Fprint(h, f.Stats().EvictedLive)
		}
		if got := fmt.Sprintf("%08x", h.Sum32()); got != want {
			t.Errorf("window %s: verdicts %s, want %s", text, got, want)
		}
	}
}

// TestTimedBatches cuts a stream into calls of some sizes: verdicts, memory and
// statistics stay the same.
func TestTimedBatches(t *testing.T) {
	for _, text := range []string{"1ms", "50ms", "n:700", "none"} {
		s := check.RandomPackets(12, 70_000, check.Clocks(100_000)["jumps"])
		eachMode(t, func(t *testing.T, refresh, across bool) {
			cfg := TimedConfig{Window: mustWindow(t, text), Memory: 300 * layout.LineSize, Refresh: refresh, Across: across}
			one := newTimed(t, cfg)
			want := s.Verdicts(one, 1000)
			for _, batch := range []int{700, 5000, len(s.Digests)} {
				f := newTimed(t, cfg)
				if !slices.Equal(s.Verdicts(f, batch), want) || !slices.Equal(f.rows.arena.Lines(), one.rows.arena.Lines()) || f.Stats() != one.Stats() {
					t.Errorf("window %s, batches of %d: other verdicts or memory, or %+v, want %+v", text, batch, f.Stats(), one.Stats())
				}
			}
		})
	}
}

func TestTimedFPR(t *testing.T) {
	const bits, n, warm, lines = 10, 100_000, 4000, 64
	f := newTimed(t, TimedConfig{Window: Window{None: true}, Memory: lines * layout.LineSize})
	rng := rand.New(rand.NewPCG(12, 12))
	s := &check.Packets{}
	for range warm + n {
		// Fingerprints of so few different bits meet as often as short ones.
		s.Add(digest.Digest{rng.Uint64() << (64 - bits), rng.Uint64()}, 0, 0)
	}
	false1 := 0
	for _, isCopy := range s.Verdicts(f, 1000)[warm:] {
		if isCopy {
			false1++
		}
	}
	// Full lines hold six different fingerprints, so each element is a binomial trial of
	// exactly the predicted probability.
	low, high := binomialBounds(n, timedFPR(bits, Window{None: true}), 1e-6)
	if false1 < low || false1 > high {
		t.Errorf("%d false positives of %d, outside of [%d, %d] (confidence 1 - 1e-6)", false1, n, low, high)
	}
	if got := newTimed(t, TimedConfig{Window: Window{None: true}, Memory: 64}).Stats().PredictedFPR; got > engine.DefaultFPR {
		t.Errorf("predicted rate %v above the default bound", got)
	}
}

// binomialBounds returns the least interval whose outside has a probability of less than
// alpha on each side, for n trials of probability p.
func binomialBounds(n int, p, alpha float64) (low, high int) {
	lgamma := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	term := func(k int) float64 {
		return math.Exp(lgamma(n) - lgamma(k) - lgamma(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	}
	low, high = 0, n
	for sum := term(low); sum < alpha; sum += term(low) {
		low++
	}
	for sum, k := 1.0, 0; k <= n; k++ {
		sum -= term(k)
		if sum < alpha {
			return low, k
		}
	}
	return low, high
}

func TestNewTimedErrors(t *testing.T) {
	w := Window{Duration: Default}
	for _, c := range []struct {
		cfg  TimedConfig
		want error
	}{
		{TimedConfig{Memory: 64}, engine.ErrWindow},
		{TimedConfig{Memory: 64, Window: Window{Duration: -1}}, engine.ErrWindow},
		{TimedConfig{Memory: 64, Window: Window{Packets: -1}}, engine.ErrWindow},
		{TimedConfig{Memory: 64, Window: Window{Packets: 1, None: true}}, engine.ErrWindow},
		{TimedConfig{Memory: 63, Window: w}, engine.ErrMemory},
		{TimedConfig{Memory: -1, Window: w}, engine.ErrMemory},
		{TimedConfig{Memory: 64, Limit: -1, Window: w}, engine.ErrMemory},
		{TimedConfig{Memory: 64, Window: w, FPR: 1}, engine.ErrFPR},
		{TimedConfig{Memory: 64, Window: w, FPR: -1e-9}, engine.ErrFPR},
		{TimedConfig{Memory: 64, Window: w, FPR: math.NaN()}, engine.ErrFPR},
		{TimedConfig{Memory: 64, Window: w, FPR: 1e-15}, engine.ErrFPR},
		{TimedConfig{Memory: 64, Window: w, FPR: 1e-12, Across: true}, engine.ErrFPR},
		{TimedConfig{Memory: math.MaxInt, Window: w}, layout.ErrArenaSize},
	} {
		if _, err := NewTimed(c.cfg); !errors.Is(err, c.want) {
			t.Errorf("%+v: error %v, want %v", c.cfg, err, c.want)
		}
	}
	for _, fpr := range []float64{0.5, 1e-9, 1e-10, 4e-13} {
		st := newTimed(t, TimedConfig{Memory: 200, Window: w, FPR: fpr}).Stats()
		if st.PredictedFPR > fpr || st.MemoryBytes != 192 || st.Method != "timed" {
			t.Errorf("rate %v: %+v", fpr, st)
		}
	}
	if st := newTimed(t, TimedConfig{Window: w}).Stats(); st.MemoryBytes != DefaultTimedMemory(w, 0)/64*64 {
		t.Errorf("no memory given: %+v", st)
	}
}

func TestTimedAllocations(t *testing.T) {
	s := check.RandomPackets(13, 2000, check.Clocks(100_000)["in order"])
	seen := make([]uint64, 32)
	for _, text := range []string{"1ms", "1s", "n:50", "none"} {
		f := newTimed(t, TimedConfig{Window: mustWindow(t, text), Memory: 1 << 16, Across: true})
		if n := testing.AllocsPerRun(5, func() { f.TestAndSet(seen, s.Digests, s.Times, s.Points) }); n != 0 {
			t.Errorf("window %s: %v allocations a batch", text, n)
		}
	}
}

// BenchmarkTimed finds all cells taken, and windows that hold all repeated elements: the
// last 16,384.
func BenchmarkTimed(b *testing.B) {
	check.BenchSizes(b, func(b *testing.B, memory int) {
		for _, text := range []string{"1ms", "1s", "none"} {
			b.Run("window="+text, func(b *testing.B) {
				w := mustWindow(b, text)
				f := newTimed(b, TimedConfig{Window: w, Memory: memory})
				interval := max(1, w.Duration.Nanoseconds()/16384)
				s, now := check.NewBenchStream(), int64(1_700_000_000_000_000_000)
				times, seen := make([]int64, check.BenchBatch), make([]uint64, check.BenchBatch/64)
				next := func() {
					s.Next(128)
					for i := range times {
						now += interval
						times[i] = now
					}
				}
				testAndSet := func() { f.TestAndSet(seen, s.Batch, times, nil) }
				for s.At < 8*memory/64 {
					next()
					testAndSet()
				}
				check.Measure(b, check.BenchBatch, next, testAndSet)
			})
		}
	})
}
