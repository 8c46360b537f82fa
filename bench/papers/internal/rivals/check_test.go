package rivals

import (
	"math"
	"testing"
)

// must returns a value that has to be without error.
func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// plausible requires events out of trials to be within six standard deviations of a
// binomial variable (chance below 2e-9 for independent trials), plus slack, relative,
// for what the formula neglects or trials share.
func plausible(t *testing.T, name string, events, trials int, want, slack float64) {
	t.Helper()
	got := float64(events) / float64(trials)
	bound := 6*math.Sqrt(want*(1-want)/float64(trials)) + 6/float64(trials) + slack*want
	if math.Abs(got-want) > bound {
		t.Errorf("%s: measured %.6f, closed form %.6f, allowed difference %.6f", name, got, want, bound)
	}
}
