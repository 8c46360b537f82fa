package paper

import (
	"math"
	"math/rand/v2"
	"testing"
)

// qhtRates holds a run's false positive rate and false negative rate in percent.
type qhtRates struct{ fpr, fnr float64 }

// qhtRun feeds runs artificial streams of the quotient hash table paper, n
// independent uniform draws from an alphabet each, to new filters, and returns the
// rates of each over all runs.
func qhtRun(t *testing.T, runs, n, alphabet int, newFilters func(seed uint64) []Filter) []qhtRates {
	t.Helper()
	var counts []errorCounts
	known := make([]bool, alphabet)
	for run := range uint64(runs) {
		filters := newFilters(run + 1)
		if counts == nil {
			counts = make([]errorCounts, len(filters))
		}
		random := rand.New(rand.NewPCG(run, 3))
		clear(known)
		for range n {
			id := random.Uint32N(uint32(alphabet))
			d := digestOf(run<<32 | uint64(id))
			for i, f := range filters {
				qhtCount(&counts[i], f.TestAndSet(d), known[id])
			}
			known[id] = true
		}
	}
	rates := make([]qhtRates, 0, len(counts))
	for _, c := range counts {
		rates = append(rates, qhtRates{
			fpr: 100 * float64(c.falsePositives) / float64(c.distinct),
			fnr: 100 * float64(c.falseNegatives) / float64(c.duplicates),
		})
	}
	return rates
}

// qhtCount adds what was reported of one element.
func qhtCount(c *errorCounts, seen, known bool) {
	switch {
	case known:
		c.duplicates++
		if !seen {
			c.falseNegatives++
		}
	default:
		c.distinct++
		if seen {
			c.falsePositives++
		}
	}
}

// qhtMust returns a function that makes a filter or ends the test.
func qhtMust[F Filter](t *testing.T) func(F, error) F {
	return func(f F, err error) F {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
}

// qhtClose reports an error unless got is within tolerance, relative, of want.
func qhtClose(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*want {
		t.Errorf("%s: %.3f, want %.3f within %.1f %%", what, got, want, 100*tolerance)
	}
}
