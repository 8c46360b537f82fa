package theory

import (
	"math"
	"testing"
)

func TestPoissonTail(t *testing.T) {
	for _, mean := range []float64{1e-9, 0.01, 1, 5.5, 40, 1000} {
		for _, k := range []int{1, 2, 6, 42} {
			below := 0.0
			for n := range k {
				logFactorial, _ := math.Lgamma(float64(n) + 1)
				below += math.Exp(float64(n)*math.Log(mean) - mean - logFactorial)
			}
			got := PoissonTail(k, mean)
			if math.Abs(got-(1-below)) > 1e-12 {
				t.Errorf("P(X >= %d) at mean %g is %g, want %g", k, mean, got, 1-below)
			}
			// The first term is most of a small tail: the ratio is 1 + O(mean/k).
			logFactorial, _ := math.Lgamma(float64(k) + 1)
			first := math.Exp(float64(k)*math.Log(mean) - mean - logFactorial)
			if mean < 0.1 && (got < first || got > first*(1+2*mean)) {
				t.Errorf("P(X >= %d) at mean %g is %g, its first term %g", k, mean, got, first)
			}
		}
	}
	for _, mean := range []float64{math.NaN(), -1, 0} {
		if got := PoissonTail(1, mean); got != 0 {
			t.Errorf("P(X >= 1) at mean %g is %g", mean, got)
		}
	}
	if got := PoissonTail(0, 1); got != 1 {
		t.Errorf("P(X >= 0) is %g", got)
	}
}

func TestPoissonQuantile(t *testing.T) {
	for _, c := range []struct {
		mean float64
		want uint64
	}{{0, 0}, {1e-9, 0}, {0.05, 0}, {0.06, 1}, {1, 3}, {10, 15}, {100, 117}} {
		if got := PoissonQuantile(0.95, c.mean); got != c.want {
			t.Errorf("mean %g: %d, want %d", c.mean, got, c.want)
		}
	}
	below, above := PoissonQuantile(0.95, 500), PoissonQuantile(0.95, 500.001)
	if above < below || above > below+3 {
		t.Errorf("the approximation goes on from %d with %d", below, above)
	}
}
