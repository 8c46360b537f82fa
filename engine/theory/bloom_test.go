package theory

import (
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
