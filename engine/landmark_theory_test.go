package engine

import (
	"fmt"
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/asm"
)

func TestLineFPR(t *testing.T) {
	for x := range 100 {
		// One bit in a word: the share of set bits. Two: both set, where the
		// second is the first once in 64.
		one := 1 - math.Pow(63.0/64, float64(x))
		n := float64(2 * x)
		two := 1 - 2*math.Pow(63.0/64, n) + math.Pow(63.0/64, n)/64 + math.Pow(62.0/64, n)*63/64
		for rounds, want := range map[int]float64{1: math.Pow(one, 8), 2: math.Pow(two, 8)} {
			if got := lineFPRs[rounds-1]()[x]; math.Abs(got-want) > 1e-12*want+1e-30 {
				t.Errorf("%d rounds, %d elements: %g, want %g", rounds, x, got, want)
			}
		}
	}
	for rounds := 1; rounds <= asm.MaxBitRounds; rounds++ {
		before := -1.0
		for x, p := range lineFPRs[rounds-1]() {
			// Far up rounding stops the growth.
			if p < before-1e-14 || p < 0 || p > 1+1e-9 {
				t.Fatalf("%d rounds, %d elements: %g after %g", rounds, x, p, before)
			}
			before = p
		}
	}
}

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
			load := maxLoad(c.rounds, c.fpr)
			var rate, density sample
			for seed := range uint64(filters) {
				digests := landmarkDigests(seed+100, int(load*lines)+probes)
				seen := make([]uint64, len(digests)/64+1)
				filter := make([][8]uint64, lines)
				n := int(math.Round(load * lines))
				added := asm.TestAndSetBits(filter, seen, digests[:n], c.rounds)
				density.add(float64(added) / (lines * 512))
				clear(seen)
				asm.TestBits(filter, seen, digests[n:], c.rounds)
				rate.add(float64(countBits(seen)) / float64(len(digests)-n))
			}
			if z := rate.z(blockedFPR(c.rounds, load)); math.Abs(z) > 6 {
				t.Errorf("rate %.3g, predicted %.3g: %.1f standard errors off", rate.mean(), c.fpr, z)
			}
			// Elements that collide with a false positive set nothing; that lowers
			// the density by less than the rate.
			want := bitDensity(c.rounds, load)
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

func TestLoads(t *testing.T) {
	for rounds := 1; rounds <= asm.MaxBitRounds; rounds++ {
		for _, load := range []float64{1e-6, 0.1, 1, 5, 20} {
			if got := loadOfDensity(rounds, bitDensity(rounds, load)); math.Abs(got-load) > 1e-9*load {
				t.Errorf("%d rounds: load %g comes back as %g", rounds, load, got)
			}
		}
		for _, fpr := range []float64{0.5, 1e-3, 1e-9, 1e-20} {
			if got := blockedFPR(rounds, maxLoad(rounds, fpr)); math.Abs(got-fpr) > 1e-6*fpr {
				t.Errorf("%d rounds: rate %g at the load for %g", rounds, got, fpr)
			}
		}
	}
	if got := blockedFPR(2, loadOfDensity(2, 1)); !(got > 0.99 && got <= 1+1e-9) {
		t.Errorf("a filter full of ones has a rate of %g", got)
	}
}

// The table of Landmark's documentation.
func TestBestRounds(t *testing.T) {
	for _, c := range []struct {
		fpr    float64
		rounds int
		bits   float64
	}{{1e-2, 1, 10.1}, {1e-3, 1, 15.7}, {1e-4, 2, 22.9}, {1e-6, 2, 39.0}, {1e-8, 3, 64.9}, {1e-9, 3, 81.1}, {1e-10, 3, 101.6}, {1e-12, 3, 161.9}} {
		rounds, load := bestRounds(c.fpr)
		if rounds != c.rounds || math.Abs(512/load-c.bits) > 0.06 {
			t.Errorf("rate %g: %d rounds, %.2f bits an element; documented %d, %.1f", c.fpr, rounds, 512/load, c.rounds, c.bits)
		}
	}
}

func TestPoissonQuantile(t *testing.T) {
	for _, c := range []struct {
		mean float64
		want uint64
	}{{0, 0}, {1e-9, 0}, {0.05, 0}, {0.06, 1}, {1, 3}, {10, 15}, {100, 117}} {
		if got := poissonQuantile(c.mean, 0.95); got != c.want {
			t.Errorf("mean %g: %d, want %d", c.mean, got, c.want)
		}
	}
	below, above := poissonQuantile(500, 0.95), poissonQuantile(500.001, 0.95)
	if above < below || above > below+3 {
		t.Errorf("the approximation goes on from %d with %d", below, above)
	}
}
