package paper

import (
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/engine/theory"
)

func TestDynamicAppendOnly(t *testing.T) {
	const m, k, n = 4000, 4, 20_000
	for _, rule := range []GrowthRule{ByCardinality, ByDensity} {
		c := DynamicConfig{Filter: TimerConfig{Timers: m, K: k}, FPR: .02, Rule: rule, MaxFilters: 1000}
		d := timedMust[*Dynamic](t)(NewDynamic(c))
		ids := biasedStream(2*n, n, 9)
		if e := countErrors(d, ids, n); e.falseNegatives != 0 || e.duplicates != n {
			t.Errorf("rule %d: %d of %d duplicates missed", rule, e.falseNegatives, e.duplicates)
		}
		if d.Bits() != d.Filters()*m {
			t.Errorf("rule %d: %d bits in %d filters of %d", rule, d.Bits(), d.Filters(), m)
		}
		for i, filter := range d.filters {
			// All but the newest are full, to the event; by density an event may carry a
			// filter beyond the limit by less than k bits.
			excess, most := float64(filter.events)-math.Floor(-m/k*math.Log(1-math.Pow(c.FPR, 1./k))), 0.0
			if rule == ByDensity {
				excess, most = float64(filter.occupied())-m*math.Pow(c.FPR, 1./k), k-1e-9
			}
			if newest := i == len(d.filters)-1; excess > most || excess < 0 && !newest {
				t.Errorf("rule %d: filter %d is %.2f beyond its limit", rule, i+1, excess)
			}
			// By density a filter is full at the first event that reaches m P^(1/k) bits.
			full := m * math.Pow(c.FPR, 1./k)
			if ones := float64(filter.occupied()); rule == ByDensity && i < len(d.filters)-1 && (ones < full || ones >= full+k) {
				t.Errorf("filter %d has %.0f bits, want %.1f and less than %d more", i+1, ones, full, k)
			}
		}
	}
}

// TestDynamicFilters lets events that all differ arrive steadily, one a unit, and
// compares the mean number of filters alive with the closed form.
func TestDynamicFilters(t *testing.T) {
	const m, k, fpr = 4000, 6, .001
	form := theory.Dynamic{Bits: m, K: k, FPR: fpr}
	capacity, err := form.Capacity()
	if err != nil {
		t.Fatal(err)
	}
	for _, window := range []int{capacity / 2, 2*capacity + capacity/3} {
		for _, rule := range []GrowthRule{ByCardinality, ByDensity} {
			c := DynamicConfig{Filter: TimerConfig{Timers: m, K: k, Window: window}, FPR: fpr, Rule: rule, MaxFilters: 9}
			want, err := form.CardinalityFilters(window)
			if rule == ByDensity && window <= capacity {
				want = 1 // it loses elements as fast as it takes them
			}
			if err != nil {
				t.Fatal(err)
			}
			got := meanFilters(timedMust[*Dynamic](t)(NewDynamic(c)), window, 30_000)
			if math.Abs(got-want) > .02*want {
				t.Errorf("rule %d, window %d: %.3f filters alive, want %.3f", rule, window, got, want)
			}
		}
	}
}

func meanFilters(d *Dynamic, window, units int) float64 {
	sum, counted := 0, 0
	for unit := range uint64(units) {
		d.TestAndSetAt(digestOf(unit), unit)
		if unit >= 3*uint64(window) {
			sum += d.Filters()
			counted++
		}
	}
	return float64(sum) / float64(counted)
}

func TestDynamicShrinks(t *testing.T) {
	const window = 50
	for _, rule := range []GrowthRule{ByCardinality, ByDensity} {
		c := DynamicConfig{Filter: TimerConfig{Timers: 300, K: 3, Window: window}, FPR: .01, Rule: rule, MaxFilters: 8}
		d := timedMust[*Dynamic](t)(NewDynamic(c))
		for i := range uint64(150) {
			d.TestAndSetAt(digestOf(i), 1)
		}
		grown := d.Filters()
		d.AdvanceTo(window)
		if grown < 5 || grown >= c.MaxFilters || d.Filters() != grown {
			t.Errorf("rule %d: %d filters after a burst, %d in the window's last unit", rule, grown, d.Filters())
		}
		if d.AdvanceTo(window + 1); d.Filters() != 1 || d.filters[0].events != 0 {
			t.Errorf("rule %d: %d filters after the window, %d events", rule, d.Filters(), d.filters[0].events)
		}
	}
}

// TestDynamicAtLimit checks that no more filters are made and nothing is missed; see
// TestTimersMissNothingInWindow for filters with a window.
func TestDynamicAtLimit(t *testing.T) {
	c := DynamicConfig{Filter: TimerConfig{Timers: 500, K: 3}, FPR: .01, Rule: ByDensity, MaxFilters: 2}
	d := timedMust[*Dynamic](t)(NewDynamic(c))
	if e := countErrors(d, biasedStream(2000, 1000, 4), 1000); e.falseNegatives != 0 {
		t.Errorf("%d missed", e.falseNegatives)
	}
	if d.Filters() != c.MaxFilters || d.Bits() != 1000 {
		t.Errorf("%d filters of %d bits in all, at most %d", d.Filters(), d.Bits(), c.MaxFilters)
	}
}
