package paper

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// countdown is the timer Bloom filter as printed: all its counters lose one in each unit.
type countdown struct {
	counters    []uint64
	window, now uint64
	equal       int
	pos         []uint64
}

func (c *countdown) TestAndSetAt(d digest.Digest, unit uint64) (seen bool) {
	for ; c.now < unit; c.now++ {
		for i := range c.counters {
			c.counters[i] -= min(1, c.counters[i])
		}
	}
	positions(c.pos, d, uint64(len(c.counters)))
	groups, largest := map[uint64]int{}, 0
	for _, i := range c.pos {
		groups[c.counters[i]]++
		largest = max(largest, groups[c.counters[i]])
	}
	if groups[0] == 0 && largest >= c.equal {
		return true
	}
	late := min(c.now-unit, c.window)
	for _, i := range c.pos {
		c.counters[i] = max(c.counters[i], c.window-late)
	}
	return false
}

func (c *countdown) running() (count int) {
	for _, counter := range c.counters {
		if counter > 0 {
			count++
		}
	}
	return count
}

// timedMust returns a filter, or ends the test if it cannot be built.
func timedMust[F TimedFilter](t *testing.T) func(F, error) F {
	return func(f F, err error) F {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
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

func TestTimerBloomIsCountdown(t *testing.T) {
	for _, window := range []int{1, 2, 7, 40} {
		for _, equal := range []int{0, 1, 2, 3} {
			c := TimerConfig{Timers: 101, K: 3, Window: window, Equal: equal}
			f := timedMust[*TimerBloom](t)(NewTimerBloom(c))
			model := &countdown{counters: make([]uint64, c.Timers), window: uint64(window), equal: equal, pos: make([]uint64, c.K)}
			timedEvents(4000, 60, uint64(window), uint64(window), func(element, unit uint64) {
				got, want := f.TestAndSetAt(digestOf(element), unit), model.TestAndSetAt(digestOf(element), unit)
				if got != want || f.occupied() != model.running() {
					t.Fatalf("%+v, unit %d: seen %t, want %t; %d timers run, want %d", c, unit, got, want, f.occupied(), model.running())
				}
			})
			if len(f.timers.due) > c.Timers {
				t.Errorf("%+v: %d units noted for %d timers", c, len(f.timers.due), c.Timers)
			}
		}
	}
}

// requireNothingMissed checks Definition 4: what was reported distinct in the window
// is found again. Elements repeat within a unit, at any gap and late.
func requireNothingMissed(t *testing.T, name string, f TimedFilter, window uint64) {
	t.Helper()
	delivered := map[uint64]uint64{}
	now, found := uint64(0), 0
	timedEvents(20_000, 300, window, 5, func(element, unit uint64) {
		now = max(now, unit)
		at, known := delivered[element]
		seen := f.TestAndSetAt(digestOf(element), unit)
		if inWindow := known && now-at < window; inWindow && !seen {
			t.Fatalf("%s: delivered in unit %d, missed in unit %d", name, at, now)
		} else if inWindow {
			found++
		}
		if !seen {
			delivered[element] = max(unit, delivered[element])
		}
	})
	if found < 100 {
		t.Errorf("%s: only %d duplicates in the window", name, found)
	}
}

func TestTimersMissNothingInWindow(t *testing.T) {
	for _, window := range []int{1, 13, 100} {
		c := TimerConfig{Timers: 400, K: 4, Window: window}
		requireNothingMissed(t, "one filter", timedMust[*TimerBloom](t)(NewTimerBloom(c)), uint64(window))
		for _, rule := range []GrowthRule{ByCardinality, ByDensity} {
			for _, most := range []int{1, 2, 50} {
				d := DynamicConfig{Filter: c, FPR: .05, Rule: rule, MaxFilters: most}
				d.Filter.Timers = 80
				name := fmt.Sprintf("rule %d, at most %d filters", rule, most)
				requireNothingMissed(t, name, timedMust[*Dynamic](t)(NewDynamic(d)), uint64(window))
			}
		}
	}
}

// TestTimersForget checks that a lone element is held from its unit on for the window
// and not a unit longer, in one filter and in a dynamic one.
func TestTimersForget(t *testing.T) {
	c := TimerConfig{Timers: 1000, K: 4, Window: 10}
	f := timedMust[*TimerBloom](t)(NewTimerBloom(c))
	d := timedMust[*Dynamic](t)(NewDynamic(DynamicConfig{Filter: c, FPR: .01, MaxFilters: 3}))
	for _, step := range []struct {
		element, unit uint64
		seen          bool
	}{
		{1, 100, false}, {1, 109, true}, {1, 110, false}, // a duplicate does not prolong
		{2, 105, false}, {2, 114, true}, {2, 115, false}, // five units late
		{3, 100, false}, {3, 115, false}, {3, 115, true}, // late by more than the window
		{4, math.MaxUint64, false}, {4, math.MaxUint64, true}, {4, 0, true}, // time's end
		{5, math.MaxUint64 - 5, false}, {5, 0, true},
	} {
		for name, filter := range map[string]TimedFilter{"one filter": f, "dynamic": d} {
			if seen := filter.TestAndSetAt(digestOf(step.element), step.unit); seen != step.seen {
				t.Errorf("%s: element %d in unit %d: seen %t, want %t", name, step.element, step.unit, seen, step.seen)
			}
		}
	}
}

// TestEqualTimersFalsePositives compares the groups of equal timers that new elements
// find with the closed form. The bounds are of probability 1e-6 on each side. The test
// fills a hundred filters, since the elements of one share its timers. It allows for two
// elements that share all hash values, which happens with probability m^-2 here and not
// with the formula's independent hash functions.
func TestEqualTimersFalsePositives(t *testing.T) {
	const m, k, n, filters, queries = 2003, 6, 500, 100, 2000
	var groups [k + 1]int
	for filter := range filters {
		f := timedMust[*TimerBloom](t)(NewTimerBloom(TimerConfig{Timers: m, K: k, Window: n}))
		base := uint64(filter * (n + queries))
		for i := range uint64(n) {
			f.TestAndSetAt(digestOf(base+i), i)
		}
		for i := range uint64(queries) {
			groups[f.EqualTimers(digestOf(base+n+i), n-1)]++
		}
	}
	reported := 0
	for equal := k; equal >= 1; equal-- {
		reported += groups[equal]
		rate, err := theory.EqualTimers{Timers: m, K: k, AtLeast: equal}.FPR(n)
		if err != nil {
			t.Fatal(err)
		}
		// Elements that were false positives themselves are missing from the n.
		low, _ := binomialInterval(filters*queries, .97*rate, 1e-6)
		_, high := binomialInterval(filters*queries, 1.03*rate+n/float64(m*m), 1e-6)
		if reported < low || reported > high {
			t.Errorf("%d equal: %d reported, want %d to %d", equal, reported, low, high)
		}
	}
}

func TestTimerConstructorErrors(t *testing.T) {
	c := TimerConfig{Timers: 1000, K: 4, Window: 10, Equal: 2}
	d := DynamicConfig{Filter: c, FPR: .05, MaxFilters: 4}
	changed := func(change func(c *TimerConfig)) error {
		c := c
		change(&c)
		_, err := NewTimerBloom(c)
		if err == nil {
			t.Errorf("%+v: no error", c)
		}
		_, err = NewTimerSlices(c, 1)
		return err
	}
	dynamic := func(change func(d *DynamicConfig)) error {
		d := d
		change(&d)
		_, err := NewDynamic(d)
		return err
	}
	slices := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"timers":           changed(func(c *TimerConfig) { c.Timers = 0 }),
		"many timers":      changed(func(c *TimerConfig) { c.Timers = maxTimers + 1 }),
		"K":                changed(func(c *TimerConfig) { c.K = 0 }),
		"many hashes":      changed(func(c *TimerConfig) { c.K = maxHashes + 1 }),
		"window":           changed(func(c *TimerConfig) { c.Window = 0 }),
		"long window":      changed(func(c *TimerConfig) { c.Window = math.MaxInt }),
		"equal":            changed(func(c *TimerConfig) { c.Equal = 5 }),
		"equal below 0":    changed(func(c *TimerConfig) { c.Equal = -1 }),
		"window below 0":   dynamic(func(d *DynamicConfig) { d.Filter.Window = -1 }),
		"equal bits":       dynamic(func(d *DynamicConfig) { d.Filter.Window = 0 }),
		"rule":             dynamic(func(d *DynamicConfig) { d.Rule = 2 }),
		"no filter":        dynamic(func(d *DynamicConfig) { d.MaxFilters = 0 }),
		"many filters":     dynamic(func(d *DynamicConfig) { d.MaxFilters = maxTimers/1000 + 1 }),
		"FPR":              dynamic(func(d *DynamicConfig) { d.FPR = 1 }),
		"FPR not a number": dynamic(func(d *DynamicConfig) { d.FPR = math.NaN() }),
		"no capacity":      dynamic(func(d *DynamicConfig) { d.Filter.Timers = 5 }),
		"no slice":         slices(NewTimerSlices(c, 0)),
		"many slices":      slices(NewTimerSlices(c, 1001)),
	} {
		if !errors.Is(err, ErrParameter) {
			t.Errorf("%s: error %v, want %v", name, err, ErrParameter)
		}
	}
}

func TestTimerSlicesMissNothingInWindow(t *testing.T) {
	const window = 40
	c := TimerConfig{Timers: 800, K: 4, Window: window}
	requireNothingMissed(t, "timers", timedMust[*TimerSlices](t)(NewTimerSlices(c, 8)), window)
}
