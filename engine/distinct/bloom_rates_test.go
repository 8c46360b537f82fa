package distinct

import (
	"fmt"
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// The rates and densities of simulated filters: the mean over 40 filters lies
// within 6 of its own standard errors of the prediction, which Student's t with 39
// degrees of freedom misses once in two million times.
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
			b, err := theory.NewSplitBlock(c.rounds)
			if err != nil {
				t.Fatal(err)
			}
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
			// Elements that collide with a false positive set nothing; that lowers
			// the density by less than the rate.
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
