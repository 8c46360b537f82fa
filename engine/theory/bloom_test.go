package theory

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func TestBloomAgainstSimulation(t *testing.T) {
	const m, k, n, probes = 8000, 4, 1000, 200000
	r := rand.New(rand.NewPCG(2, 0))
	bits := make([]bool, m)
	for range n * k {
		bits[r.IntN(m)] = true
	}
	hits := 0
	for range probes {
		set := 0
		for range k {
			if bits[r.IntN(m)] {
				set++
			}
		}
		if set == k {
			hits++
		}
	}
	// One filling of the bits has 1 % of spread in their density, 4 % in its power.
	plausible(t, "FPR", hits, probes, value[float64](t)(BloomFPR(m, k, n)), .1)
}

func TestBloomApproximation(t *testing.T) {
	for _, m := range []int{1, 10, 1000, 1e9} {
		for k := 1; k < 10; k++ {
			n := m/10 + 1
			exact, approx := value[float64](t)(BloomFPR(m, k, n)), value[float64](t)(BloomFPRApprox(m, k, n))
			if approx > exact {
				t.Errorf("m=%d k=%d: approximation %g above %g", m, k, approx, exact)
			}
			if m >= 1000 {
				near(t, "approximation", approx, exact, 10*float64(k)/float64(m))
			}
		}
	}
	if zero := value[float64](t)(BloomFPR(1, 3, 0)); zero != 0 {
		t.Errorf("FPR of an empty filter is %g", zero)
	}
}

func TestBloomOptimalKIsTheMinimum(t *testing.T) {
	for perElement := 1; perElement < 60; perElement++ {
		best := value[int](t)(BloomOptimalK(perElement*1000, 1000))
		lowest := value[float64](t)(BloomFPRApprox(perElement*1000, best, 1000))
		for k := 1; k < 50; k++ {
			if value[float64](t)(BloomFPRApprox(perElement*1000, k, 1000)) < lowest {
				t.Errorf("%d bits for each element: k=%d is better than %d", perElement, k, best)
			}
		}
	}
	near(t, "0.6185^(m/n)", value[float64](t)(BloomFPRApprox(16000, value[int](t)(BloomOptimalK(16000, 1000)), 1000)), math.Pow(.6185, 16), .01)
}

func TestBloomCapacityInvertsTheRate(t *testing.T) {
	for _, fpr := range []float64{1e-9, .01, .08, .9} {
		n := value[float64](t)(BloomCapacity(1e9, 4, fpr))
		near(t, "FPR", value[float64](t)(BloomFPRApprox(1e9, 4, int(math.Round(n)))), fpr, 1e-6)
	}
}

func TestSplitBlockLines(t *testing.T) {
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
	for rounds := 1; rounds <= MaxSplitRounds; rounds++ {
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

func TestSplitBlockLoads(t *testing.T) {
	for rounds := 1; rounds <= MaxSplitRounds; rounds++ {
		b := SplitBlock{rounds}
		for _, load := range []float64{1e-6, 0.1, 1, 5, 20} {
			if got := b.LoadOfDensity(b.Density(load)); math.Abs(got-load) > 1e-9*load {
				t.Errorf("%d rounds: load %g comes back as %g", rounds, load, got)
			}
		}
		for _, fpr := range []float64{0.5, 1e-3, 1e-9, 1e-20} {
			if got := b.FPR(b.Load(fpr)); math.Abs(got-fpr) > 1e-6*fpr {
				t.Errorf("%d rounds: rate %g at the load for %g", rounds, got, fpr)
			}
		}
	}
	if got := (SplitBlock{2}).FPR((SplitBlock{2}).LoadOfDensity(1)); !(got > 0.99 && got <= 1+1e-9) {
		t.Errorf("a filter full of ones has a rate of %g", got)
	}
}

func TestBestSplitBlock(t *testing.T) {
	for _, c := range []struct {
		fpr    float64
		rounds int
		bits   float64
	}{{1e-2, 1, 10.1}, {1e-3, 1, 15.7}, {1e-4, 2, 22.9}, {1e-6, 2, 39.0}, {1e-8, 3, 64.9}, {1e-9, 3, 81.1}, {1e-10, 3, 101.6}, {1e-12, 3, 161.9}} {
		b, load, err := BestSplitBlock(c.fpr)
		if err != nil {
			t.Fatal(err)
		}
		rounds := b.Rounds()
		if rounds != c.rounds || math.Abs(512/load-c.bits) > 0.06 {
			t.Errorf("rate %g: %d rounds, %.2f bits an element; documented %d, %.1f", c.fpr, rounds, 512/load, c.rounds, c.bits)
		}
	}
}

func TestSplitBlockDomain(t *testing.T) {
	for _, rounds := range []int{-1, 0, MaxSplitRounds + 1} {
		if _, err := NewSplitBlock(rounds); !errors.Is(err, ErrDomain) {
			t.Errorf("%d rounds: %v", rounds, err)
		}
	}
	for _, fpr := range []float64{0, 1, -1, math.NaN()} {
		if _, _, err := BestSplitBlock(fpr); !errors.Is(err, ErrDomain) {
			t.Errorf("rate %g: %v", fpr, err)
		}
	}
	b := SplitBlock{2}
	for _, load := range []float64{math.NaN(), -1, 0} {
		if b.FPR(load) != 0 || b.Density(load) != 0 {
			t.Errorf("load %g: rate %g, density %g", load, b.FPR(load), b.Density(load))
		}
	}
}
