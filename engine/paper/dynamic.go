package paper

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"slices"
)

// Dynamic is the Bloom filter of dynamic size of paper "One is Enough: Distributed
// Filtering for Duplicate Elimination" (Koloniari, Ntarmos, Pitoura, Souravlias,
// CIKM 2011), section 5: when the newest filter is full, an empty one of the same
// size and hash functions is created. An event is a duplicate if one of the filters
// has it; distinct ones go to the newest. Filters whose timers have all reached
// zero are discarded. The false positive rate is that of all filters together,
// 1 - (1-P_1)(1-P_2)...
//
// With timers it is a [TimedFilter] and keeps the promises of [TimerBloom]. With
// append-only filters it is a [Filter] that only grows and misses nothing.
//
// When MaxFilters filters are alive the newest takes events although it is full:
// nothing is missed then either, and the false positive rate rises above the one
// asked for.
//
// Readings taken:
//
//   - Whether the newest filter is full is asked when an event is to be inserted. A
//     filter by density may be full no longer by then and goes on being the newest.
//   - A filter is full when its events or positions reach the threshold. An event may
//     carry the density beyond it by less than k positions.
//   - One filter is always there: if the last is discarded an empty one replaces it,
//     whose count of events is 0 again.
type Dynamic struct {
	config  DynamicConfig
	full    float64
	filters []member // the newest is the last
	now     uint64
}

// member is a filter and the events that it took.
type member struct {
	layer
	events int
}

// isEmpty reports whether there is nothing left of what the filter took. A new one
// still has to take something.
func (m member) isEmpty() bool { return m.events > 0 && m.occupied() == 0 }

var (
	_ Filter      = (*Dynamic)(nil)
	_ TimedFilter = (*Dynamic)(nil)
)

// NewDynamic returns one empty filter. Errors wrap [ErrParameter].
func NewDynamic(c DynamicConfig) (*Dynamic, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	full, err := c.full()
	if err != nil {
		return nil, err
	}
	d := &Dynamic{config: c, full: full}
	d.grow()
	return d, nil
}

// TestAndSetAt implements [TimedFilter]. Append-only filters ignore the unit.
func (d *Dynamic) TestAndSetAt(e digest.Digest, unit uint64) (seen bool) {
	d.AdvanceTo(unit)
	for _, m := range d.filters {
		if m.test(e) {
			return true
		}
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

// AdvanceTo makes unit the present, unless it is past, and discards the filters that
// are empty then.
func (d *Dynamic) AdvanceTo(unit uint64) {
	if unit <= d.now {
		return
	}
	d.now = unit
	for i := range d.filters {
		d.filters[i].advance(unit)
	}
	d.filters = slices.DeleteFunc(d.filters, member.isEmpty)
	if len(d.filters) == 0 {
		d.grow()
	}
}

// Filters returns how many filters are alive in the present, from 1 to MaxFilters.
func (d *Dynamic) Filters() int { return len(d.filters) }

// Bits implements [Filter] and [TimedFilter]: the memory of the filters that are
// alive.
func (d *Dynamic) Bits() int {
	bits := 0
	for _, m := range d.filters {
		bits += m.Bits()
	}
	return bits
}

func (d *Dynamic) newest() *member { return &d.filters[len(d.filters)-1] }

// isFull reports whether the newest filter is.
func (d *Dynamic) isFull() bool {
	if d.config.Rule == ByCardinality {
		return float64(d.newest().events) >= d.full
	}
	return float64(d.newest().occupied()) >= d.full
}

// grow creates an empty filter, which is the newest then.
func (d *Dynamic) grow() {
	filter := newLayer(d.config.Filter)
	filter.advance(d.now)
	d.filters = append(d.filters, member{layer: filter})
}
