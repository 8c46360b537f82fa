package theory

import (
	"math"
	"testing"
)

// Bound over measured rate at m/d = n/ln(2), as the paper's experiment measured again.
func TestLandmarkBoundRatio(t *testing.T) {
	for d, want := range map[int]float64{1: 1.8, 2: 2.5, 3: 3.3, 4: 4.0, 5: 4.7, 6: 5.4, 8: 6.8, 9: 7.5, 10: 8.2, 12: 9.6, 16: 12.4} {
		got := value[float64](t)(LandmarkBoundRatio(d))
		if math.Abs(got-want) > .0501 {
			t.Errorf("ratio for d=%d is %.3f, want %.1f", d, got, want)
		}
	}
	if got := value[float64](t)(LandmarkBoundRatio(1000)); math.IsNaN(got) || math.IsInf(got, 0) {
		t.Errorf("ratio for d=1000 is %g", got)
	}
}

func TestLandmarkErrorsIsThePrintedSum(t *testing.T) {
	for _, c := range [][3]int{{1000, 1, 1}, {1000, 1, 100}, {1000, 3, 100}, {5000, 4, 700}, {2000, 2, 50000}, {20000, 10, 1000}} {
		m, d, n := c[0], c[1], c[2]
		sum := 0.0
		for i := range n {
			sum += math.Pow(-math.Expm1(-float64(d)*float64(i)/float64(m)), float64(d))
		}
		if got := value[float64](t)(LandmarkErrors(m, d, n)); math.Abs(got-sum) > 1e-5*(sum+1e-9) {
			t.Errorf("m=%d d=%d n=%d: %.9g errors, want %.9g", m, d, n, got, sum)
		}
	}
}

func TestLandmarkRateStaysBelowTheFullFilter(t *testing.T) {
	for d := 1; d < 20; d++ {
		last := 0.0
		for n := 1; n < 1e6; n *= 3 {
			rate, full := value[float64](t)(LandmarkRate(10000, d, n)), value[float64](t)(BloomFPRApprox(10000, d, n))
			if rate > full || rate < last {
				t.Errorf("d=%d n=%d: rate %g, full %g, before %g", d, n, rate, full, last)
			}
			last = rate
		}
	}
}
