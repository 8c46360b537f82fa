// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// must returns a result, or ends the test if there is an error.
func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// digestOf replaces a keyed hash: both halves by SplitMix64's mixer.
func digestOf(id uint64) digest.Digest {
	return digest.Digest{layout.Mix((2*id + 1) * layout.Golden), layout.Mix((2*id + 2) * layout.Golden)}
}

// shuffled returns the stream of the biased sampling paper's tables: distinct ids from 0
// on, each at least once, and n-distinct copies of uniformly chosen ones, all shuffled.
func shuffled(n, distinct int, seed uint64) []uint64 {
	random := rand.New(rand.NewPCG(seed, 0))
	ids := make([]uint64, n)
	for i := range ids {
		if ids[i] = uint64(i); i >= distinct {
			ids[i] = random.Uint64N(uint64(distinct))
		}
	}
	random.Shuffle(n, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}

// skewed returns n elements below alphabet, with low ones much more often: each is the
// square of the lesser of two uniform draws.
func skewed(n, alphabet int, seed uint64) []uint64 {
	random := rand.New(rand.NewPCG(seed, 0))
	ids := make([]uint64, n)
	for i := range ids {
		x := math.Pow(min(random.Float64(), random.Float64()), 2)
		ids[i] = uint64(x * float64(alphabet))
	}
	return ids
}

// uniform returns n independent draws from an alphabet.
func uniform(n, alphabet int, seed uint64) []uint64 {
	random := rand.New(rand.NewPCG(seed, 3))
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = random.Uint64N(uint64(alphabet))
	}
	return ids
}

// fresh returns n different elements from first on.
func fresh(first, n int) []uint64 {
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = uint64(first + i)
	}
	return ids
}

// timedEvents calls event for elements whose units mostly stay or advance by one,
// sometimes leap by up to three windows, and sometimes are late by up to two.
func timedEvents(n, elements int, window uint64, seed uint64, event func(element, unit uint64)) {
	random := rand.New(rand.NewPCG(seed, 0))
	now := uint64(0)
	for range n {
		unit := now
		switch choice := random.IntN(100); {
		case choice == 0:
			unit += random.Uint64N(3*window + 1)
		case choice < 30:
			unit++
		case choice < 50:
			unit -= min(unit, random.Uint64N(2*window+1))
		}
		now = max(now, unit)
		event(random.Uint64N(uint64(elements)), unit)
	}
}

// errorCounts holds a run's errors: false positives among the distinct elements, and
// false negatives among the duplicates.
type errorCounts struct {
	distinct, falsePositives   int
	duplicates, falseNegatives int
}

// countErrors runs a filter over a stream, and counts from an element on.
func countErrors(f Filter, ids []uint64, from int) (c errorCounts) {
	known := make([]bool, slices.Max(ids)+1)
	for i, id := range ids {
		seen := f.TestAndSet(digestOf(id))
		switch {
		case i < from:
		case known[id]:
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
		known[id] = true
	}
	return c
}

// plausible requires events out of trials to be within six standard deviations of a
// binomial variable (chance below 2e-9 for independent trials), plus a relative slack for
// effects that the formula neglects or trials share.
func plausible(t *testing.T, name string, events, trials int, want, slack float64) {
	t.Helper()
	got := float64(events) / float64(trials)
	bound := 6*math.Sqrt(max(0, want*(1-want))/float64(trials)) + slack*want
	if !(math.Abs(got-want) <= bound+1e-12) {
		t.Errorf("%s: measured %.5f, closed form %.5f, allowed difference %.5f", name, got, want, bound)
	}
}

func failure(_ any, err error) error { return err }

// requireParameterErrors requires all errors to wrap [ErrParameter].
func requireParameterErrors(t *testing.T, errs map[string]error) {
	t.Helper()
	for name, err := range errs {
		if !errors.Is(err, ErrParameter) {
			t.Errorf("%s: error %v, want %v", name, err, ErrParameter)
		}
	}
}
