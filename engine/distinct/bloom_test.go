// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// With a measurable rate, verdicts and counts do not depend on batches, and earlier
// elements are always seen.
func TestScalableBloomBatches(t *testing.T) {
	digests := check.Digests(43, 30_000)
	digests = append(digests, digests...)
	var want []uint64
	var counts engine.Counts
	for _, batch := range []int{1, 7, 64, 511, 512, 513, 1000, len(digests)} {
		l := newScalableBloom(t, ScalableBloomConfig{FPR: 0.1, Memory: 1})
		got := check.Feed(l, digests, batch)
		if want == nil {
			want, counts = got, l.Counts()
		}
		if !slices.Equal(got, want) || l.Counts() != counts {
			t.Errorf("batch %d: verdicts differ, or counts: %+v and %+v", batch, l.Counts(), counts)
		}
	}
	for i := len(digests) / 2; i < len(digests); i++ {
		if want[i/64]>>(i%64)&1 == 0 {
			t.Fatalf("element %d came before and is not seen", i)
		}
	}
}

// The bound holds over many doublings: of n distinct elements, each taken for a repeat
// with a probability of at most the bound, no more are than the mean and 6 standard
// deviations of the binomial. The number expected from the densities is met within 6
// standard deviations too, and the rate announced stays under the bound at every moment.
func TestScalableBloomBound(t *testing.T) {
	for _, fpr := range []float64{0.3, 1e-2, 1e-3, 1e-4} {
		t.Run(fmt.Sprint(fpr), func(t *testing.T) {
			const n = 300_000
			l := newScalableBloom(t, ScalableBloomConfig{FPR: fpr, Memory: 1})
			digests := check.Digests(45, n)
			missed := 0
			for at := 0; at < n; at += 1000 {
				missed += check.CountBits(check.Feed(l, digests[at:at+1000], 1000))
				if got := l.fpr(); got > fpr {
					t.Fatalf("after %d elements the rate is %g", at, got)
				}
			}
			if most := n*fpr + 6*math.Sqrt(n*fpr); float64(missed) > most {
				t.Errorf("%d false positives, at most %.0f allowed", missed, most)
			}
			c := l.Counts()
			if expected := l.expectedMissed(); math.Abs(float64(missed)-expected) > 6*math.Sqrt(expected)+3 {
				t.Errorf("%d false positives, %.1f expected", missed, expected)
			}
			if c.Low != uint64(n-missed) || c.Low > n || c.Distinct < c.Low || c.High < c.Distinct {
				t.Errorf("counts %+v", c)
			}
			if len(l.filters) < 6 {
				t.Errorf("only %d sub-filters", len(l.filters))
			}
		})
	}
}

// The interval holds the true count in at least 95 % of runs: of 100, fewer than 82 has a
// probability below 1e-6.
func TestScalableBloomInterval(t *testing.T) {
	held := 0
	for seed := range uint64(100) {
		l := newScalableBloom(t, ScalableBloomConfig{FPR: 0.02, Memory: 1})
		check.Feed(l, check.Digests(1000+seed, 5000), 1000)
		if c := l.Counts(); c.Low <= 5000 && 5000 <= c.High {
			held++
		}
		l.Close()
	}
	if held < 82 {
		t.Errorf("the interval held in %d of 100 runs", held)
	}
}

func TestScalableBloomConfig(t *testing.T) {
	for _, fpr := range []float64{-1, 1e-19, 0.6, math.NaN(), math.Inf(1)} {
		if _, err := NewScalableBloom(ScalableBloomConfig{FPR: fpr}); err == nil {
			t.Errorf("rate %g is accepted", fpr)
		}
	}
	if _, err := NewScalableBloom(ScalableBloomConfig{Memory: math.MaxInt}); !errors.Is(err, layout.ErrArenaSize) {
		t.Errorf("all memory: %v", err)
	}
	for _, fpr := range []float64{0.5, 1e-3, 1e-9, 1e-18} {
		for _, memory := range []int{-1, 1, 64 << 10} {
			l := newScalableBloom(t, ScalableBloomConfig{FPR: fpr, Memory: memory})
			check.Feed(l, check.Digests(47, 20_000), 1000)
			if got := l.Counts().FPR; got > fpr {
				t.Errorf("rate %g, memory %d: %g", fpr, memory, got)
			}
		}
	}
}

func TestScalableBloomWithoutMemory(t *testing.T) {
	l := newScalableBloom(t, ScalableBloomConfig{FPR: 1e-3})
	l.newArena = func(int) (*layout.Arena, error) { return nil, errNoMemory }
	digests := check.Digests(49, 100_000)
	check.Feed(l, digests, 1000)
	if got := l.Counts().FPR; got < 0.1 {
		t.Errorf("rate %g in an overfull filter", got)
	}
	if got := check.CountBits(check.Feed(l, digests, 1000)); got != len(digests) {
		t.Errorf("%d of %d elements are still known", got, len(digests))
	}
	if c := l.Counts(); c.MemoryBytes != 64<<10 {
		t.Errorf("%d bytes", c.MemoryBytes)
	}
	l.newArena = layout.NewArena
	check.Feed(l, digests[:rowtable.Step+1], 1000)
	if len(l.filters) != 2 {
		t.Error("it does not grow when there is memory again")
	}
}

// The sizes of ScalableBloom's documentation: as many sub-filters are started as the
// elements fill by their limits.
func TestScalableBloomMemory(t *testing.T) {
	for _, c := range []struct {
		fpr, elements float64
		mib           int
	}{
		{1e-3, 1e6, 4}, {1e-6, 1e6, 8}, {1e-9, 1e6, 16}, {1e-3, 4e6, 16}, {1e-6, 4e6, 32}, {1e-9, 4e6, 64},
	} {
		l := newScalableBloom(t, ScalableBloomConfig{FPR: c.fpr})
		holds := 0.0
		for {
			f := l.active()
			lines := float64(len(f.arena.Lines()))
			holds += lines * f.block.LoadOfDensity(float64(f.limit)/(512*lines))
			if len(l.filters) == 1 && c.fpr == engine.DefaultFPR && math.Abs(holds/4900-1) > 0.01 {
				t.Errorf("the first sub-filter holds %.0f elements, documented as 4900", holds)
			}
			if holds >= c.elements {
				break
			}
			if err := l.add(); err != nil {
				t.Skipf("no memory: %v", err)
			}
		}
		// Doublings of 64 KiB add up to 64 KiB less than a power of two.
		if got := l.Counts().MemoryBytes + 64<<10; got != c.mib<<20 {
			t.Errorf("rate %g: %.0g elements take %d bytes, documented as %d MiB", c.fpr, c.elements, got, c.mib)
		}
	}
}

// BenchmarkScalableBloom gives filters about as many elements as their first part takes,
// so that they do not grow.
func BenchmarkScalableBloom(b *testing.B) {
	bitsAnElement := map[float64]int{1e-3: 32, 1e-9: 128}
	check.BenchSizes(b, func(b *testing.B, memory int) {
		for _, fpr := range []float64{1e-3, 1e-9} {
			b.Run(fmt.Sprintf("fpr=%.9f", fpr), func(b *testing.B) {
				var l *ScalableBloom
				empty := func() engine.Counter[digest.Digest] {
					l = newScalableBloom(b, ScalableBloomConfig{FPR: fpr, Memory: memory})
					return l
				}
				check.MeasureCounter(b, empty, 8*memory/bitsAnElement[fpr], func(d digest.Digest) digest.Digest { return d })
				if grown := l.Counts().MemoryBytes; grown != memory {
					b.Errorf("%d bytes, not %d", grown, memory)
				}
			})
		}
	})
}

// The rates and densities of simulated filters: the mean over 40 filters lies within 6 of
// its own standard errors of the prediction, which Student's t with 39 degrees of freedom
// misses once in two million times.
func TestBlockedFPRIsMet(t *testing.T) {
	const lines, filters, probes = 1024, 40, 100_000
	for _, c := range []struct {
		rounds int
		fpr    float64
	}{{1, 1e-2}, {1, 1e-3}, {2, 1e-2}, {2, 1e-3}, {2, 1e-4}, {3, 1e-3}, {4, 1e-3}} {
		t.Run(fmt.Sprintf("rounds=%d/fpr=%g", c.rounds, c.fpr), func(t *testing.T) {
			if testing.Short() && c.fpr < 1e-2 {
				t.Skip("long")
			}
			b := theory.SplitBlock{Rounds: c.rounds}
			load := b.Load(c.fpr)
			var rate, density sample
			for seed := range uint64(filters) {
				digests := check.Digests(seed+100, int(load*lines)+probes)
				seen := make([]uint64, len(digests)/64+1)
				filter := make([][8]uint64, lines)
				n := int(math.Round(load * lines))
				added := line.TestAndSetBloom(filter, seen, digests[:n], c.rounds)
				density.add(float64(added) / (lines * 512))
				clear(seen)
				line.TestBloom(filter, seen, digests[n:], c.rounds)
				rate.add(float64(check.CountBits(seen)) / float64(len(digests)-n))
			}
			if z := rate.z(b.FPR(load)); math.Abs(z) > 6 {
				t.Errorf("rate %.3g, predicted %.3g: %.1f standard errors off", rate.mean(), c.fpr, z)
			}
			// Elements that collide with a false positive set nothing; that lowers the
			// density by less than the rate.
			want := b.Density(load)
			if got := density.mean(); got > want*1.002 || got < want*(0.998-c.fpr) {
				t.Errorf("density %.4f, predicted %.4f", got, want)
			}
		})
	}
}

// sample is a running mean with its standard error.
type sample struct{ n, sum, squares float64 }

func (s *sample) add(x float64) {
	s.n++
	s.sum += x
	s.squares += x * x
}

func (s *sample) mean() float64 { return s.sum / s.n }

func (s *sample) z(want float64) float64 {
	variance := (s.squares - s.sum*s.sum/s.n) / (s.n - 1)
	return (s.mean() - want) / math.Sqrt(variance/s.n)
}

// TestSplitBlockRounds holds the formulas' and the kernels' limit together.
func TestSplitBlockRounds(t *testing.T) {
	if theory.MaxSplitRounds != layout.MaxBloomRounds {
		t.Errorf("formulas for %d rounds, kernels for %d", theory.MaxSplitRounds, layout.MaxBloomRounds)
	}
}
