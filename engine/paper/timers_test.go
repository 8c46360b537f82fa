// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// countdown is the timer Bloom filter as printed: all its counters lose one in each unit.
type countdown struct {
	TimerConfig
	counters []uint64
	now      uint64
}

func (c *countdown) TestAndSetAt(d digest.Digest, unit uint64) (seen bool) {
	for ; c.now < unit; c.now++ {
		for i := range c.counters {
			c.counters[i] -= min(1, c.counters[i])
		}
	}
	pos := make([]uint64, c.K)
	layout.Positions(pos, d, uint64(c.Timers))
	groups, largest := map[uint64]int{}, 0
	for _, i := range pos {
		groups[c.counters[i]]++
		largest = max(largest, groups[c.counters[i]])
	}
	if groups[0] == 0 && largest >= c.Equal {
		return true
	}
	left := uint64(c.Window) - min(c.now-unit, uint64(c.Window))
	for _, i := range pos {
		c.counters[i] = max(c.counters[i], left)
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

func TestTimerBloomIsCountdown(t *testing.T) {
	for window, width := range map[int]int{1: 1, 2: 2, 7: 3, 40: 6} {
		for equal := range 4 {
			c := TimerConfig{Timers: 101, K: 3, Window: window, Equal: equal}
			f := must[*TimerBloom](t)(NewTimerBloom(c))
			model := &countdown{TimerConfig: c, counters: make([]uint64, c.Timers)}
			timedEvents(4000, 60, uint64(window), uint64(window), func(element, unit uint64) {
				got, want := f.TestAndSetAt(digestOf(element), unit), model.TestAndSetAt(digestOf(element), unit)
				if got != want || f.occupied() != model.running() {
					t.Fatalf("%+v, unit %d: seen %t, want %t; %d timers run, want %d", c, unit, got, want, f.occupied(), model.running())
				}
			})
			if len(f.due) > c.Timers || f.Bits() != c.Timers*width {
				t.Errorf("%+v: %d units noted, %d bits", c, len(f.due), f.Bits())
			}
		}
	}
}

// timedFilters returns filters of all kinds with timers.
func timedFilters(t *testing.T, c TimerConfig) map[string]TimedFilter {
	slices := must[*TimerSlices](t)(NewTimerSlices(c, 8))
	if each := c.Timers / 8 * bits.Len(uint(c.Window)); slices.Bits() != 8*each {
		t.Errorf("%+v: %d bits in 8 slices, want %d each", c, slices.Bits(), each)
	}
	filters := map[string]TimedFilter{"one filter": must[*TimerBloom](t)(NewTimerBloom(c)), "slices": slices}
	c.Timers /= 5
	for _, rule := range []GrowthRule{ByCardinality, ByDensity} {
		for _, most := range []int{1, 2, 50} {
			d := DynamicConfig{Filter: c, FPR: .05, Rule: rule, MaxFilters: most}
			filters[fmt.Sprintf("rule %d, at most %d filters", rule, most)] = must[*Dynamic](t)(NewDynamic(d))
		}
	}
	return filters
}

// TestTimersMissNothing checks Definition 4: elements reported distinct in the window are
// found again. Elements repeat within a unit, at any gap and late.
func TestTimersMissNothing(t *testing.T) {
	for _, window := range []int{1, 13, 100} {
		for name, f := range timedFilters(t, TimerConfig{Timers: 403, K: 4, Window: window}) {
			delivered := map[uint64]uint64{}
			now, found := uint64(0), 0
			timedEvents(20_000, 300, uint64(window), 5, func(element, unit uint64) {
				now = max(now, unit)
				at, known := delivered[element]
				seen := f.TestAndSetAt(digestOf(element), unit)
				if known && now-at < uint64(window) {
					if found++; !seen {
						t.Fatalf("%s: delivered in unit %d, missed in unit %d", name, at, now)
					}
				}
				if !seen {
					delivered[element] = max(unit, delivered[element])
				}
			})
			if found < 100 {
				t.Errorf("%s: only %d duplicates in the window", name, found)
			}
		}
	}
}

// TestTimersForget checks that a lone element is held from its unit on for the window
// and not a unit longer, in one filter and in others.
func TestTimersForget(t *testing.T) {
	filters := timedFilters(t, TimerConfig{Timers: 1001, K: 4, Window: 10})
	for _, step := range []struct {
		element, unit uint64
		seen          bool
	}{
		{1, 100, false}, {1, 109, true}, {1, 110, false}, // a duplicate does not prolong
		{1, 105, true}, {1, 119, true}, {1, 120, false}, // nor does a late one
		{1, math.MaxUint64, false}, {1, math.MaxUint64, true}, {1, 0, true}, // time's end
		{5, math.MaxUint64 - 5, false}, {5, 0, true},
	} {
		for name, filter := range filters {
			if seen := filter.TestAndSetAt(digestOf(step.element), step.unit); seen != step.seen {
				t.Errorf("%s: element %d in unit %d: seen %t, want %t", name, step.element, step.unit, seen, step.seen)
			}
		}
	}
}

// TestDynamicGrows checks append-only filters: they miss nothing, and each but the newest
// is full to the event. By density an event may carry a filter beyond the limit by less
// than k bits.
func TestDynamicGrows(t *testing.T) {
	const m, k, n = 4000, 4, 20_000
	for _, rule := range []GrowthRule{ByCardinality, ByDensity} {
		for _, most := range []int{2, 1000} {
			c := DynamicConfig{Filter: TimerConfig{Timers: m, K: k}, FPR: .02, Rule: rule, MaxFilters: most}
			d := must[*Dynamic](t)(NewDynamic(c))
			if e := countErrors(d, shuffled(2*n, n, 9), 0); e.falseNegatives != 0 || e.duplicates != n {
				t.Errorf("rule %d: %d of %d duplicates missed", rule, e.falseNegatives, e.duplicates)
			}
			if d.Bits() != d.Filters()*m || d.Filters() > most || most == 2 && d.Filters() < most {
				t.Errorf("rule %d: %d bits in %d filters of %d, at most %d", rule, d.Bits(), d.Filters(), m, most)
			}
			for i, filter := range d.filters[:d.Filters()-1] {
				ones, full := float64(filter.occupied()), m*math.Pow(c.FPR, 1./k)
				if rule == ByDensity && (ones < full || ones >= full+k) {
					t.Errorf("filter %d has %.0f bits, want %.1f and less than %d more", i+1, ones, full, k)
				}
				limit := math.Floor(-m / k * math.Log(1-math.Pow(c.FPR, 1./k)))
				if rule == ByCardinality && float64(filter.events) != limit {
					t.Errorf("filter %d has taken %d events, want %.0f", i+1, filter.events, limit)
				}
			}
		}
	}
}

func TestDynamicShrinks(t *testing.T) {
	const window = 50
	for _, rule := range []GrowthRule{ByCardinality, ByDensity} {
		c := DynamicConfig{Filter: TimerConfig{Timers: 300, K: 3, Window: window}, FPR: .01, Rule: rule, MaxFilters: 8}
		d := must[*Dynamic](t)(NewDynamic(c))
		for i := range uint64(150) {
			d.TestAndSetAt(digestOf(i), 1)
		}
		grown := d.Filters()
		d.advance(window)
		if grown < 5 || grown >= c.MaxFilters || d.Filters() != grown {
			t.Errorf("rule %d: %d filters after a burst, %d in the window's last unit", rule, grown, d.Filters())
		}
		if d.advance(window + 1); d.Filters() != 1 || d.filters[0].events != 0 {
			t.Errorf("rule %d: %d filters after the window, %d events", rule, d.Filters(), d.filters[0].events)
		}
	}
}

// slicings are all ways to slice a filter into 12 sites, for K = 6.
var slicings = map[string]func(c SlicedConfig) (*Sliced, error){
	"horizontal": func(c SlicedConfig) (*Sliced, error) { c.Slices = 12; return NewHorizontal(c) },
	"vertical":   func(c SlicedConfig) (*Sliced, error) { c.Slices = 12; return NewVertical(c) },
	"split 2x3":  func(c SlicedConfig) (*Sliced, error) { c.Slices = 12; return NewSplit(c, 2) },
	"split 3x2":  func(c SlicedConfig) (*Sliced, error) { c.Slices = 12; return NewSplit(c, 3) },
	"h-v diced":  func(c SlicedConfig) (*Sliced, error) { c.Slices = 3; return NewHVDiced(c, 4) },
	"v-h diced":  func(c SlicedConfig) (*Sliced, error) { c.Slices = 4; return NewVHDiced(c, 3) },
}
