// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math"
	"math/rand/v2"
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
	for _, w := range append(hostile, Window{Packets: math.MaxInt64}, Window{None: true}) {
		t.Run(w.String(), func(t *testing.T) {
			for _, across := range []bool{false, true} {
				f := newTimed(t, TimedConfig{Window: w, Memory: 1 << 14, Across: across})
				e := newExact(t, TimedConfig{Window: w, Across: across})
				s := check.HostilePackets()
				checkTwins(t, s, s.Verdicts(f, 64), w, across, tickingOf(f))
				checkTwins(t, s, s.Verdicts(e, 64), w, across, ticking{})
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
