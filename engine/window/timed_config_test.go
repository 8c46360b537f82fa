package window

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

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
	// Full lines hold six different fingerprints, so each element is a
	// binomial trial of exactly the predicted probability.
	low, high := binomialBounds(n, timedFPR(bits), 1e-6)
	if false1 < low || false1 > high {
		t.Errorf("%d false positives of %d, outside of [%d, %d] (confidence 1 - 1e-6)", false1, n, low, high)
	}
	if got := newTimed(t, TimedConfig{Window: Window{None: true}, Memory: 64}).Stats().PredictedFPR; got > engine.DefaultFPR {
		t.Errorf("predicted rate %v above the default bound", got)
	}
}

// binomialBounds returns the least interval whose outside has a probability of
// less than alpha on each side, for n trials of probability p.
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
	for _, fpr := range []float64{0.5, 1e-9, 1e-11, 2e-13} {
		st := newTimed(t, TimedConfig{Memory: 200, Window: w, FPR: fpr}).Stats()
		if st.PredictedFPR > fpr || st.MemoryBytes != 192 || st.Method != "timed" {
			t.Errorf("rate %v: %+v", fpr, st)
		}
	}
	if st := newTimed(t, TimedConfig{Window: w}).Stats(); st.MemoryBytes != DefaultMemory(w, 0)/64*64 {
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

// BenchmarkTimed finds all cells taken, and windows that hold what is repeated: the
// last 16,384 elements.
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
