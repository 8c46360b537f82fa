// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
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

// pair is value for two results.
func pair(t *testing.T) func(a, b float64, err error) (float64, float64) {
	return func(a, b float64, err error) (float64, float64) {
		both := value[[2]float64](t)([2]float64{a, b}, err)
		return both[0], both[1]
	}
}

// near requires got to be within the relative tolerance of want.
func near(t *testing.T, name string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s is %.6g, want %.6g within %.2g %%", name, got, want, 100*tolerance)
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

// domain is the domain of an argument: a value in it, and others that are not.
type domain struct {
	good any
	bad  []any
}

// within is a domain of ints, which is left by a little and as far as can be.
func within(good, least, most int) (d domain) {
	d.good = good
	for _, x := range []int{least - 1, most + 1, math.MinInt, math.MaxInt} {
		if x < least || x > most {
			d.bad = append(d.bad, x)
		}
	}
	return d
}

// from is a domain of ints without an upper end.
func from(good, least int) domain { return within(good, least, math.MaxInt) }

// but is a value whose domain does not have the others.
func but(good any, bad ...any) domain { return domain{good, bad} }

// requireDomain calls a function with one argument at a time outside of its domain. It takes
// the arguments, with the fields of structs one by one, as they are or as their domains.
func requireDomain(t *testing.T, f any, arguments ...any) {
	t.Helper()
	var good []any
	for _, argument := range arguments {
		if d, ok := argument.(domain); ok {
			argument = d.good
		}
		good = append(good, argument)
	}
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	if err := errorOf(f, good); err != nil {
		t.Errorf("%s of %v: %v", name, good, err)
	}
	for i, argument := range arguments {
		if d, ok := argument.(domain); ok {
			for _, bad := range d.bad {
				values := slices.Clone(good)
				values[i] = bad
				if err := errorOf(f, values); !errors.Is(err, ErrDomain) {
					t.Errorf("%s of %v: error is %v, want %v", name, values, err, ErrDomain)
				}
			}
		}
	}
}

// errorOf calls a function, and returns the last of its results.
func errorOf(f any, arguments []any) error {
	function := reflect.ValueOf(f)
	var in []reflect.Value
	for i := range function.Type().NumIn() {
		in = append(in, reflect.New(function.Type().In(i)).Elem())
		arguments = fill(in[i], arguments)
	}
	out := function.Call(in)
	err, _ := out[len(out)-1].Interface().(error)
	return err
}

// fill gives a value, or the fields of a struct, the first of the values, and returns the rest.
func fill(v reflect.Value, values []any) []any {
	if v.Kind() != reflect.Struct {
		v.Set(reflect.ValueOf(values[0]).Convert(v.Type()))
		return values[1:]
	}
	for i := range v.NumField() {
		values = fill(v.Field(i), values)
	}
	return values
}

// TestErrorsOutOfTheDomain leaves each end of each argument's domain.
func TestErrorsOutOfTheDomain(t *testing.T) {
	nan, atLeast1, atLeast0 := math.NaN(), from(9, 1), from(9, 0)
	rate, share, load := but(.1, 0., 1., nan), but(.5, -.1, 1.1, nan), but(.5, -1., nan)
	requireDomain(t, LineFilter.FPR, from(99, 9), within(9, 1, 99), load)
	requireDomain(t, BestSplitBlock, rate)
	stable := []any{from(100, 5), within(2, 1, 99), within(5, 1, 100), atLeast1}
	requireDomain(t, Stable.Zeros, stable...)
	requireDomain(t, Stable.FPS, stable...)
	requireDomain(t, Stable.FNR, append(stable, atLeast0)...)
	requireDomain(t, Stable.FNRAt, append(stable, atLeast0, rate)...)
	requireDomain(t, Stable.ZerosAfter, append(stable, atLeast0)...)
	requireDomain(t, StableMissFPS, from(9, 2), atLeast1)
	requireDomain(t, Dynamic.Capacity, from(200, 5), from(3, 1), rate)
	requireDomain(t, Dynamic.Capacity, 8, 4, but(.1, .001)) // takes no element
	requireDomain(t, Dynamic.Capacity, 8, but(1, 1<<30), math.Nextafter(1, 0))
	sliced := []any{from(100, 10), 4, within(10, 1, 100)}
	requireDomain(t, Sliced.SplitFPR, append(sliced, but(2, 0, 3, 5), within(9, 0, maxTrials/2))...)
	requireDomain(t, Sliced.SplitHybrid, append(sliced, but(2, 0, 3, 5), within(1, 0, 10), share, within(1, 0, 4))...)
	requireDomain(t, Sliced.PipelinedAccesses, from(100, 10), within(4, 1, 128), within(10, 1, 100), share)
	requireDomain(t, Tolerance, from(1, 0), from(2, 1), but(.1, 0., .2, nan), but(.2, .1, .1+1e-12, 1., nan))
	requireDomain(t, MissTolerance, from(1, 0), from(2, 1), rate)
	requireDomain(t, Fairness, but([]int{1, 0}, []int(nil), []int{0, 0}, []int{1, -1}))
}
