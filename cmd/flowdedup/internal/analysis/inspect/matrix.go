// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"maps"

	"github.com/flowdedup/flowdedup/capture/traits"
)

// maxHistograms bounds how many pairs of points are counted apart.
const maxHistograms = 256

// matrix counts copies by the points of both packets. Points beyond a bound are counted
// together.
type matrix struct {
	cells      map[cellKey]*cell
	most       int64 // the longest delay
	histograms int
	last       cellKey // a cache, since copies of one kind come in runs
	found      *cell
	lost       uint64 // copies without a cell
}

type cellKey struct{ first, copied uint16 }

// cell holds the counters of two points.
type cell struct {
	delays *traits.Histogram // of copies that differ, nil without
	// same are the delays of packets that do not differ, by the kind of packet and the
	// window that they fit in. Whether these are copies is known at the end.
	same [timedSorts][windows]*traits.Histogram
	hops map[int]uint64 // copies whose time to live differs, by how much
}

func newMatrix(most int64) matrix { return matrix{cells: map[cellKey]*cell{}, most: most} }

// record adds a delay to d. It makes d if there is room for a histogram.
func (m *matrix) record(d **traits.Histogram, delay, weight uint64) {
	if *d == nil {
		if m.histograms >= maxHistograms {
			m.lost += weight
			return
		}
		m.histograms++
		*d = traits.NewHistogram(m.most)
	}
	(*d).Add(delay, weight)
}

// cell returns the cell of two points, or nil if there are too many.
func (m *matrix) cell(first, copied uint16, weight uint64) *cell {
	key := cellKey{first, copied}
	if m.found != nil && m.last == key {
		return m.found
	}
	c := m.cells[key]
	if c == nil {
		if len(m.cells) >= maxHistograms {
			m.lost += weight
			return nil
		}
		c = &cell{hops: map[int]uint64{}}
		m.cells[key] = c
	}
	m.last, m.found = key, c
	return c
}

// add counts a copy.
func (m *matrix) add(first, copied *sighting, delay, weight uint64) {
	if c := m.cell(first.point, copied.point, weight); c != nil {
		c.addHops(first, copied, weight)
		m.record(&c.delays, delay, weight)
	}
}

// addSame counts a packet that does not differ from an earlier packet at the same point.
func (m *matrix) addSame(x *event, weight uint64) {
	if c := m.cell(x.point, x.point, weight); c != nil {
		m.record(&c.same[x.sort][x.span], x.delay, weight)
	}
}

func (m *matrix) clone() matrix {
	n := newMatrix(m.most)
	n.lost, n.histograms = m.lost, m.histograms
	for key, c := range m.cells {
		k := &cell{delays: m.copyOf(c.delays), hops: maps.Clone(c.hops)}
		for sort := range c.same {
			for span, d := range c.same[sort] {
				k.same[sort][span] = m.copyOf(d)
			}
		}
		n.cells[key] = k
	}
	return n
}

func (m *matrix) copyOf(d *traits.Histogram) *traits.Histogram {
	if d == nil {
		return nil
	}
	c := traits.NewHistogram(m.most)
	c.Merge(d)
	return c
}

// report lists the cells, the largest first, and the delays of all. isCopy says which
// packets that do not differ are copies.
func (m *matrix) report(names *traits.Names, isCopy func(sort, span int) bool) ([]traits.Cell, []traits.Bin) {
	all, every := []traits.Cell{}, traits.NewHistogram(m.most)
	for key, c := range m.cells {
		sum := traits.NewHistogram(m.most)
		sum.Merge(c.delays)
		for sort := range c.same {
			for span, d := range c.same[sort] {
				if isCopy(sort, span) {
					sum.Merge(d)
				}
			}
		}
		if sum.Count() == 0 {
			continue
		}
		every.Merge(sum)
		all = append(all, traits.Cell{First: names.Name(uint32(key.first)), Copy: names.Name(uint32(key.copied)), Count: sum.Count(), Delay: sum.Delays()})
	}
	traits.SortCells(all)
	return all, every.Bins()
}

// mostRouters is the largest number of routers on a path, as in traceroute. Routers do not
// lower a time to live by more.
const mostRouters = 30

// addHops counts a copy by how much smaller its time to live is.
func (c *cell) addHops(first, copied *sighting, weight uint64) {
	step := int(first.hops) - int(copied.hops)
	if step == 0 {
		return
	}
	c.hops[step] += weight
}

// routers returns how many routers lie between most copies whose time to live differs. The
// path between two points is always the same: where no step stands for most copies of a pair,
// senders or balancers choose times to live. It returns 0 unless it can say so for most
// copies.
func (m *matrix) routers() int {
	pairs := map[cellKey]map[int]uint64{}
	for key, c := range m.cells {
		between := cellKey{min(key.first, key.copied), max(key.first, key.copied)}
		if pairs[between] == nil {
			pairs[between] = map[int]uint64{}
		}
		for step, n := range c.hops {
			pairs[between][max(step, -step)] += n
		}
	}
	all, explained := uint64(0), map[int]uint64{}
	for _, steps := range pairs {
		step, n, sum := most(steps)
		all += sum
		if step <= mostRouters && 2*n > sum {
			explained[step] += n
		}
	}
	step, _, sum := most(explained)
	if 2*sum <= all {
		return 0
	}
	return step
}

// most returns the number with the largest count, the least if counts are equal, its count, and the
// sum of all counts.
func most(counts map[int]uint64) (number int, n, sum uint64) {
	for i, count := range counts {
		sum += count
		if count > n || count == n && i < number {
			number, n = i, count
		}
	}
	return number, n, sum
}
