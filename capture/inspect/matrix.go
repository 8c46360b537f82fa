package inspect

import (
	"cmp"
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// maxHistograms bounds how many pairs of points are counted apart. A histogram of
	// delays up to a second takes 25 KiB.
	maxHistograms = 256
	// digits is the precision of delays: values are off by 1 % at most.
	digits = 2
)

// RelativeError is by how much the percentiles of delays may be wrong.
const RelativeError = 0.01

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

type cellKey struct{ first, copied uint32 }

// cell is what is counted for two points.
type cell struct {
	delays *delays // of copies that differ, nil without
	// same are the delays of packets that do not differ, by the kind of packet and the
	// window that they fit in. Whether these are copies is known at the end.
	same [2][windows]*delays
}

// delays are the delays of packets.
type delays struct {
	count uint64
	hist  *hdrhistogram.Histogram
}

func newMatrix(most int64) matrix { return matrix{cells: map[cellKey]*cell{}, most: max(most, 2)} }

func (m *matrix) newDelays() *delays {
	return &delays{hist: hdrhistogram.New(1, m.most, digits)}
}

// record adds a delay to d. It makes d if there is room for one more.
func (m *matrix) record(d **delays, delay, weight uint64) {
	if *d == nil {
		if m.histograms >= maxHistograms {
			m.lost += weight
			return
		}
		m.histograms++
		*d = m.newDelays()
	}
	(*d).count += weight
	// RecordValues fails above the highest value alone.
	_ = (*d).hist.RecordValues(int64(min(delay, uint64(m.most))), int64(weight))
}

// cell returns the cell of two points, or nil if there are too many.
func (m *matrix) cell(first, copied uint32, weight uint64) *cell {
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
		c = &cell{}
		m.cells[key] = c
	}
	m.last, m.found = key, c
	return c
}

// add counts a copy.
func (m *matrix) add(first, copied uint32, delay, weight uint64) {
	if c := m.cell(first, copied, weight); c != nil {
		m.record(&c.delays, delay, weight)
	}
}

// addSame counts a packet that does not differ from an earlier one at the same point.
func (m *matrix) addSame(s *sighting, span int, delay uint64) {
	if c := m.cell(s.point, s.point, s.weight()); c != nil {
		m.record(&c.same[s.sort()][span], delay, s.weight())
	}
}

func (m *matrix) clone() matrix {
	n := newMatrix(m.most)
	n.lost, n.histograms = m.lost, m.histograms
	for key, c := range m.cells {
		k := &cell{delays: m.copyOf(c.delays)}
		for sort := range c.same {
			for span, d := range c.same[sort] {
				k.same[sort][span] = m.copyOf(d)
			}
		}
		n.cells[key] = k
	}
	return n
}

func (m *matrix) copyOf(d *delays) *delays {
	if d == nil {
		return nil
	}
	c := m.newDelays()
	c.merge(d)
	return c
}

// Delays are percentiles of delays in nanoseconds, off by RelativeError at most.
type Delays struct {
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// Cell counts the copies that were seen first at one point and then at another.
type Cell struct {
	First string `json:"first"`
	Copy  string `json:"copy"`
	Count uint64 `json:"count"`
	Delay Delays `json:"delay_ns"`
}

// Bin counts the copies with delays of at least From and below To nanoseconds.
type Bin struct {
	From  int64  `json:"from_ns"`
	To    int64  `json:"to_ns"`
	Count uint64 `json:"count"`
}

// binsPerDecade is how fine delays are reported. The histograms are finer.
const binsPerDecade = 10

// bins sums up a histogram. Bins grow with the delay, and none but the first and the last
// is left out.
func (d *delays) bins() []Bin {
	all := []Bin{}
	if d.count == 0 {
		return all
	}
	from := int64(0)
	for i := 0; from <= d.hist.Max(); i++ {
		to := int64(math.Ceil(math.Pow(10, float64(i)/binsPerDecade)))
		if to <= from {
			continue
		}
		all = append(all, Bin{From: from, To: to})
		from = to
	}
	for _, bar := range d.hist.Distribution() {
		if bar.Count > 0 {
			i, _ := slices.BinarySearchFunc(all, bar.From, func(b Bin, v int64) int { return cmp.Compare(b.To, v+1) })
			all[min(i, len(all)-1)].Count += uint64(bar.Count)
		}
	}
	for len(all) > 0 && all[0].Count == 0 {
		all = all[1:]
	}
	return all
}

// report lists the cells, the largest first, and the delays of all. isCopy says which
// packets that do not differ are copies.
func (m *matrix) report(names []string, isCopy func(sort, span int) bool) ([]Cell, []Bin) {
	all, every := []Cell{}, m.newDelays()
	for key, c := range m.cells {
		sum := m.newDelays()
		sum.merge(c.delays)
		for sort := range c.same {
			for span, d := range c.same[sort] {
				if isCopy(sort, span) {
					sum.merge(d)
				}
			}
		}
		if sum.count == 0 {
			continue
		}
		every.merge(sum)
		h := sum.hist
		all = append(all, Cell{First: names[key.first], Copy: names[key.copied], Count: sum.count, Delay: Delays{
			P50: h.ValueAtQuantile(50), P90: h.ValueAtQuantile(90), P99: h.ValueAtQuantile(99), P999: h.ValueAtQuantile(99.9), Max: h.Max(),
		}})
	}
	slices.SortFunc(all, compareCells)
	return all, every.bins()
}

func (d *delays) merge(o *delays) {
	if o != nil {
		d.count += o.count
		d.hist.Merge(o.hist)
	}
}

// compareCells orders cells by count, then by name.
func compareCells(a, b Cell) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.First, b.First), cmp.Compare(a.Copy, b.Copy))
}
