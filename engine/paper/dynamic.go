// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// Dynamic is the Bloom filter of dynamic size of KNPS, section 5: when the newest filter
// is full, it adds an empty filter of the same size and hash functions. An event is a
// duplicate if one of the filters has it; the newest filter takes distinct events.
// Filters whose timers have all reached zero are discarded. The false positive rate is
// the rate of all filters together, 1 - (1-P_1)(1-P_2)...
//
// With timers it is a [TimedFilter] and keeps the promises of [TimerBloom]. With
// append-only filters it is a [Filter] that only grows and misses nothing.
//
// When MaxFilters filters are alive, the newest takes events although it is full. Then it
// still misses nothing, but the false positive rate exceeds the requested rate.
//
// Interpretation:
//
//   - The newest filter is checked for being full when an event is inserted. By then
//     a filter that grows by density may have space again and stays the newest.
//   - A filter is full when its events or positions reach the threshold. An event may
//     carry the density beyond it by less than k positions.
//   - An event that is too late to set a timer is not inserted, so it does not count.
//   - There is always one filter: if the last is discarded, an empty one with a count of
//     0 events replaces it.
type Dynamic struct {
	config  DynamicConfig
	full    float64  // events or positions at which a filter is full
	filters []member // the newest is the last
	now     uint64
}

// member is a filter and the number of events that it took.
type member struct {
	layer
	events int
}

var (
	_ Filter      = (*Dynamic)(nil)
	_ TimedFilter = (*Dynamic)(nil)
)

// NewDynamic returns one empty filter. Errors wrap [ErrParameter].
func NewDynamic(c DynamicConfig) (*Dynamic, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	form := theory.Dynamic{Bits: c.Filter.Timers, K: c.Filter.K, FPR: c.FPR}
	capacity, err := form.Capacity()
	if err != nil {
		return nil, fmt.Errorf("paper: capacity: %w: %w", ErrParameter, err)
	}
	d := &Dynamic{config: c, full: float64(capacity)}
	if c.Rule == ByDensity {
		d.full = float64(form.Bits) * math.Pow(form.FPR, 1/float64(form.K))
	}
	d.grow()
	return d, nil
}

// TestAndSetAt implements [TimedFilter]. Append-only filters ignore the unit.
func (d *Dynamic) TestAndSetAt(e digest.Digest, unit uint64) (seen bool) {
	d.advance(unit)
	for _, m := range d.filters {
		if m.test(e) {
			return true
		}
	}
	if w := uint64(d.config.Filter.Window); w > 0 && d.now-unit >= w {
		return false
	}
	if d.isFull() && len(d.filters) < d.config.MaxFilters {
		d.grow()
	}
	newest := d.newest()
	newest.set(e, unit)
	newest.events++
	return false
}

// TestAndSet implements [Filter]: it is [Dynamic.TestAndSetAt] in the present.
func (d *Dynamic) TestAndSet(e digest.Digest) (seen bool) { return d.TestAndSetAt(e, d.now) }

// advance makes unit the present, unless that is past, and discards the filters that
// are empty then.
func (d *Dynamic) advance(unit uint64) {
	if unit <= d.now {
		return
	}
	d.now = unit
	for i := range d.filters {
		d.filters[i].advance(unit)
	}
	d.filters = slices.DeleteFunc(d.filters, func(m member) bool { return m.occupied() == 0 })
	if len(d.filters) == 0 {
		d.grow()
	}
}

// Filters returns how many filters are alive in the present, from 1 to MaxFilters.
func (d *Dynamic) Filters() int { return len(d.filters) }

// Bits implements [Filter] and [TimedFilter]: the memory of the filters that are alive.
func (d *Dynamic) Bits() int {
	bits := 0
	for _, m := range d.filters {
		bits += m.Bits()
	}
	return bits
}

func (d *Dynamic) newest() *member { return &d.filters[len(d.filters)-1] }

// isFull reports whether the newest filter is full.
func (d *Dynamic) isFull() bool {
	if d.config.Rule == ByCardinality {
		return float64(d.newest().events) >= d.full
	}
	return float64(d.newest().occupied()) >= d.full
}

// grow adds an empty filter as the newest.
func (d *Dynamic) grow() {
	filter := newLayer(d.config.Filter)
	filter.advance(d.now)
	d.filters = append(d.filters, member{layer: filter})
}

// GrowthRule says when a filter of a [Dynamic] is full.
type GrowthRule int

const (
	// ByCardinality: a filter is full when it has taken as many events as bring a Bloom
	// filter to the false positive rate, -(m/k) ln(1-P^(1/k)), rounded down. The count
	// never falls, since no event shows when an element leaves the window.
	ByCardinality GrowthRule = iota
	// ByDensity calls a filter full if m P^(1/k) of its positions are not zero at
	// present.
	ByDensity
)

// DynamicConfig says which filters of dynamic size to build.
type DynamicConfig struct {
	// Filter describes each of the filters. Window 0 stands for append-only filters,
	// which have bits instead of timers. Equal is then 0 or 1.
	Filter     TimerConfig
	FPR        float64 // P, the false positive rate at which a filter is full
	Rule       GrowthRule
	MaxFilters int // from 1; MaxFilters * Filter.Timers is at most 2^32
}

func (c DynamicConfig) validate() error {
	equal := c.Filter.K
	if c.Filter.Window == 0 {
		equal = 1
	}
	return cmp.Or(
		c.Filter.validate(0),
		requireRange("equal bits", c.Filter.Equal, 0, equal),
		requireRange("growth rule", int(c.Rule), int(ByCardinality), int(ByDensity)),
		requireRange("filters at most", c.MaxFilters, 1, maxTimers/max(1, c.Filter.Timers)),
	)
}

// layer is one filter of a [Dynamic]: a [TimerBloom], or a [Bloom] without a landmark.
type layer interface {
	treeNode
	// occupied returns how many positions are not zero at present.
	occupied() int
}

// treeNode is one filter of a [Tree]: a layer, or a sliced filter.
type treeNode interface {
	// advance makes unit the present, unless that is past.
	advance(unit uint64)
	// test reports whether the filter holds the element at present.
	test(d digest.Digest) (seen bool)
	// set inserts an element that came in the given unit.
	set(d digest.Digest, unit uint64)
	// since returns the latest unit in which the element may have come. The filter must
	// hold it.
	since(d digest.Digest) uint64
	Bits() int
}

// newLayer returns an empty filter. The configuration must be valid.
func newLayer(c TimerConfig) layer {
	if c.Window > 0 {
		return newTimerBloom(c)
	}
	return newBloom(c.Timers, c.K)
}
