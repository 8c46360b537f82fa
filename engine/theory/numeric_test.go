package theory

import (
	"errors"
	"math"
	"testing"
)

// value returns a result, or ends the test if there is an error.
func value[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// near requires got to be within the relative tolerance of want.
func near(t *testing.T, name string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s is %.6g, want %.6g within %.2g %%", name, got, want, 100*tolerance)
	}
}

// plausible requires events out of trials to be within six standard deviations of a
// binomial variable (independent trials would leave that once in 5e8 runs),
// plus slack, relative, for what the formula neglects or trials share.
func plausible(t *testing.T, name string, events, trials int, want, slack float64) {
	t.Helper()
	got := float64(events) / float64(trials)
	if bound := 6*math.Sqrt(want*(1-want)/float64(trials)) + slack*want; math.Abs(got-want) > bound {
		t.Errorf("%s: simulated %.5f, formula %.5f, allowed difference %.5f", name, got, want, bound)
	}
}

func TestErrorsOutOfTheDomain(t *testing.T) {
	err2 := func(_ any, err error) error { return err }
	err3 := func(_, _ float64, err error) error { return err }
	nan := math.NaN()
	good := Stable{Cells: 100, K: 2, P: 4, Max: 1}
	for name, err := range map[string]error{
		"BloomFPR m":           err2(BloomFPR(0, 1, 1)),
		"BloomFPRApprox k":     err2(BloomFPRApprox(1, 0, 1)),
		"BloomFPR n":           err2(BloomFPR(1, 1, -1)),
		"BloomOptimalK m":      err2(BloomOptimalK(0, 1)),
		"BloomOptimalK n":      err2(BloomOptimalK(1, 0)),
		"BloomCapacity NaN":    err2(BloomCapacity(8, 1, nan)),
		"BloomCapacity k":      err2(BloomCapacity(8, 0, .5)),
		"Stable cells":         err2(Stable{Cells: 2, K: 2, P: 1, Max: 1}.Zeros()),
		"Stable P":             err2(Stable{Cells: 9, K: 2, P: 10, Max: 1}.FPS()),
		"Stable FNR":           err2(good.FNR(-1)),
		"Stable ZerosAfter":    err2(good.ZerosAfter(-1)),
		"StableP fps":          err2(StableP(100, 2, 1, 1)),
		"StableP cells":        err2(StableP(100, 1, 3, 1e-6)),
		"StablePExact K":       err2(StablePExact(100, 0, 3, .1)),
		"FNRAt":                err2(Stable{100, 2, 5, 1}.FNRAt(9, 1)),
		"StableBestK gap":      err2(StableBestK(100, 3, .1, 2)),
		"StableBestK cells":    err2(StableBestK(1, 3, .1, 9)),
		"StableBestK rounding": err2(StableBestK(1e6, 15, .01, 30)),
		"StableBestK fps":      err2(StableBestK(40, 3, 1e-30, 9)),
		"StableHits HitP":      err2(StableHits{good, -1}.FPS()),
		"StableHits P":         err2(StableHits{good, good.P + 1}.Zeros()),
		"StableHits K":         err2(StableHits{Stable{Cells: 2, K: 2, P: 1, Max: 1}, 1}.Zeros()),
		"StableMissFPS p":      err2(StableMissFPS(1, 2)),
		"StableMissFPS k":      err2(StableMissFPS(2, 0)),
		"Biased method":        err2(Biased(4, 2, 1000, BiasedStream{2000, 1000})),
		"Biased k":             err2(Biased(BSBF, 0, 1000, BiasedStream{2000, 1000})),
		"Biased s":             err2(Biased(BSBF, 2, 1000, BiasedStream{200000, 1000})),
		"Biased distinct":      err2(Biased(BSBF, 2, 1000, BiasedStream{2000, 0})),
		"Biased elements":      err2(Biased(BSBF, 2, 1000, BiasedStream{2000, 2000})),
		"Biased copies":        err2(Biased(BSBF, 2, 1000, BiasedStream{20000, 200})),
		"Biased p*":            err2(Biased(RSBF, 2, 1000, BiasedStream{40000, 1000})),
		"Quotient K":           err2(Quotient{9, 4, 3}.NewElementFP(1)),
		"Quotient S":           err2(Quotient{9, 1, 1}.FPR(1)),
		"Quotient rows":        err2(Quotient{0, 1, 3}.PrintedFP(1)),
		"Quotient m":           err2(Quotient{9, 1, 3}.PrintedFP(-1)),
		"Quotient new m":       err2(Quotient{9, 1, 3}.NewElementFP(-1)),
		"Quotient n":           err2(Quotient{9, 1, 3}.FPR(0)),
		"Quotient universe":    err2(Quotient{9, 1, 3}.FNR(0)),
		"Quotient duplicates":  err3(Quotient{9, 0, 3}.SaturatedWithDuplicates()),
		"SQFFingerprints":      err2(SQFFingerprints(2, 3)),
		"QHTMemoryRatio":       err2(QHTMemoryRatio(0, 0, true)),
		"SQFSaturatedFPR r":    err2(SQFSaturatedFPR(1, 0, 0)),
		"SQFSaturatedFPR k":    err2(SQFSaturatedFPR(0, 2, 1)),
		"LandmarkRate":         err2(LandmarkRate(1, 1, 0)),
		"LandmarkBoundRatio":   err2(LandmarkBoundRatio(0)),
		"LandmarkBoundRatio d": err2(LandmarkBoundRatio(1001)),
		"TimerBits":            err2(TimerBits(0)),
	} {
		if !errors.Is(err, ErrDomain) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

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
