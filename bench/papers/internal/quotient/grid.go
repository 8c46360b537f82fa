// SPDX-License-Identifier: Apache-2.0

package quotient

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// given is the specification of a filter.
type given struct {
	memory int // bits
	window int // elements, for b_DBF
	seed   uint64
	kicks  int // limit of the fingerprints that an insertion into a cuckoo filter moves
}

// column is a filter of the paper's section 6.1, or the same without the faults of the
// measured filter.
type column struct {
	name   string
	kind   result.Kind
	of     int  // the printed column to compare it with
	coarse bool // a smaller stream is enough
	make   func(given) paper.Filter
}

// columns are the columns of the paper's Tables 2 and 4, in their order, and then the
// same methods without the faults.
var columns = []column{
	{"SQF", result.Described, 0, false, func(g given) paper.Filter {
		return result.Must(paper.NewSQF(paper.SQFConfig{Bits: g.memory, Cells: 1, Remainder: 2, Fingerprint: 1, Seed: g.seed}))
	}},
	{"QHT/QQHT", result.Described, 1, false, func(g given) paper.Filter {
		return result.Must(paper.NewQHT(paper.QHTConfig{Bits: g.memory, CellBits: 3, Cells: 1, Seed: g.seed}))
	}},
	{"Cuckoo", result.Emulated, 2, false, func(g given) paper.Filter { return newCuckoo(g, cuckooMemory(g.memory)) }},
	{"SBF", result.Emulated, 3, false, func(g given) paper.Filter { return newAnyCell(g.memory, g.seed) }},
	{"A2", result.Emulated, 4, false, func(g given) paper.Filter { return newPrintedA2(g.memory) }},
	{"b_DBF", result.Emulated, 5, false, func(g given) paper.Filter { return newDelayed(g.memory, g.window, true) }},
	{"Cuckoo, all memory", result.Corrected, 2, true, func(g given) paper.Filter { return newCuckoo(g, g.memory) }},
	{"SBF, both cells", result.Corrected, 3, true, newStable},
	{"A2, 10 %", result.Corrected, 4, true, func(g given) paper.Filter { return result.Must(paper.NewA2ForRate(g.memory, a2Target)) }},
	{"b_DBF, no zero passes", result.Corrected, 5, false, func(g given) paper.Filter { return newDelayed(g.memory, g.window, false) }},
}

// printedColumns are the columns that the paper prints.
var printedColumns = columns[:6]

const cuckooBits = 3

// cuckooMemory returns the bits of the rows in use when the number of rows is the largest
// power of two up to M/2^s: the authors' program divides by 2^s instead of s.
func cuckooMemory(memory int) int {
	return cuckooBits << (bits.Len(uint(memory>>cuckooBits)) - 1)
}

func newCuckoo(g given, memory int) paper.Filter {
	return result.Must(paper.NewCuckoo(paper.CuckooConfig{Bits: memory, CellBits: cuckooBits, Cells: 1, Kicks: g.kicks, Seed: g.seed}))
}

func newStable(g given) paper.Filter {
	cells := g.memory / stableBits
	p := result.Must(forms.StableP(cells, stableHashes, stableMax, stableTarget))
	return result.Must(paper.NewStable(paper.StableConfig{Cells: cells, CellBits: stableBits, K: stableHashes, P: p, Seed: g.seed}))
}

const a2Target = 0.1

// newPrintedA2 returns the A2 filter of the printed columns. The number of hash functions
// is the natural logarithm of 1/f, rounded down, for a buffer's rate f. Half full buffers
// need the binary logarithm.
func newPrintedA2(memory int) paper.Filter {
	k := math.Floor(-math.Log(1 - math.Sqrt(1-a2Target)))
	capacity := float64(memory/2) / k * math.Ln2
	return result.Must(paper.NewA2(memory, int(k), max(1, int(capacity))))
}

const (
	gridElements = 150_000_000
	gridWindow   = 6000 // b_DBF's
	gridKicks    = 4    // more change no rate, only the time
	// gridScale divides stream, alphabet, memory and window, which keeps the rates. A
	// larger one would round the blocks of b_DBF too much.
	gridScale = 16
	// coarseScale is the scale of corrected columns without blocks, which have no printed
	// numbers.
	coarseScale = 64
)

// memories are the sizes of the filters in bits, and alphabets the sizes of the streams.
// Tables 2 and 4 have a row, or two, for each memory of each stream.
var (
	memories  = []int{8e6, 1e6, 1e5, 1e4}
	alphabets = []int{1 << 24, 1 << 27}
)

// grid has the rates of the columns for each stream and memory.
type grid [][]rates

func measureGrid(o result.Options) (g grid) {
	for _, of := range result.Grid(o, len(alphabets)*len(memories), 2, func(place, coarse int) []rates {
		scale := []int{gridScale, coarseScale}[coarse]
		if o.Full {
			scale = 1
		}
		chosen := slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return c.coarse != (coarse == 1) })
		return measureColumns(place, chosen, scale, uint64(place/len(memories))+1, 1)
	}) {
		var row []rates
		for _, c := range columns {
			from := &of[0]
			if c.coarse {
				from = &of[1]
			}
			row, *from = append(row, (*from)[0]), (*from)[1:]
		}
		g = append(g, row)
	}
	return g
}

// measureColumns gives a stream to filters, both of a place of the grid divided by scale.
func measureColumns(place int, columns []column, scale int, streamSeed, filterSeed uint64) (measured []rates) {
	var filters []paper.Filter
	for _, c := range columns {
		filters = append(filters, c.make(given{
			memory: memories[place%len(memories)] / scale, window: gridWindow / scale, kicks: gridKicks, seed: filterSeed,
		}))
	}
	alphabet := alphabets[place/len(memories)] / scale
	for _, s := range uniform(alphabet, streamSeed, 3).Scores(gridElements/scale, filters...) {
		measured = append(measured, percent(s))
	}
	return measured
}

// fill puts rates of each place into as many rows, next to the printed ones, and after
// them the closed forms of tables with the given number of fingerprints in cells of three
// bits.
func (g grid) fill(o result.Options, t *result.Table, fingerprints []int, of ...func(rates) float64) {
	size := "Streams of 150,000,000 uniform draws from alphabets of 2^24 and 2^27"
	if !o.Full {
		size += fmt.Sprintf(", scaled by 1/%d together with memory and window, which keeps the rates (by 1/%d for the corrected columns but b_DBF)", gridScale, coarseScale)
	}
	t.Say(size + "; one run (the paper: 5). SQF r=2, r'=1; QHT and QQHTD (the same for one cell) and cuckoo filter with one cell of 3 bits a row; SBF with 2 cells of 2 bits, target 2 %; A2, target 10 %; b_DBF, window 6000. The four columns after these are the same methods without the faults of the authors' program that the columns before emulate; beside them, too, is what the paper prints. The last is the closed form of QHT.")
	for i := range t.Rows {
		row, place, rate := &t.Rows[i], i/len(of), of[i%len(of)]
		printed := row.Cells
		row.Cells = nil
		for j, c := range columns {
			cell := result.Compared(rate(g[place][j]), printed[c.of].Printed, "%")
			cell.Kind = c.kind
			row.Cells = append(row.Cells, cell)
		}
		for _, s := range fingerprints {
			q := forms.Quotient{Rows: memories[place%len(memories)] / 3, K: 1, S: s}
			form := formOf(q, forms.QHT, forms.UniformStream{Elements: gridElements, Universe: alphabets[place/len(memories)]})
			*row = row.And("%", rate(form))
		}
	}
}

func (g grid) table2(o result.Options, t *result.Table) { g.fill(o, t, []int{7, 4}, rates.sum) }

func (g grid) table4(o result.Options, t *result.Table) {
	g.fill(o, t, []int{7}, func(r rates) float64 { return r.fpr }, func(r rates) float64 { return r.fnr })
}

// anyCell is the stable Bloom filter with the fault of the paper's column: it reports an
// element if any of its two cells is above zero, instead of both. If a share x of the
// cells is above zero, it reports 1-(1-x)^2 of the new elements, not x^2. Everything else
// is as in [paper.Stable], with the P of the formula rounded down.
type anyCell struct {
	cells  []uint8
	decay  int // P
	random *rand.Rand
}

const (
	stableBits   = 2 // of a cell
	stableMax    = 1<<stableBits - 1
	stableHashes = 2
	stableTarget = 0.02 // the requested false positive rate
)

func newAnyCell(memory int, seed uint64) *anyCell {
	cells := memory / stableBits
	decay := int(forms.StablePExact(cells, stableHashes, stableMax, stableTarget))
	return &anyCell{cells: make([]uint8, cells), decay: min(decay, cells), random: rand.New(rand.NewPCG(seed, 5))}
}

func (a *anyCell) TestAndSet(d digest.Digest) (seen bool) {
	first, second := a.position(d[0]), a.position(d[1])
	seen = a.cells[first] > 0 || a.cells[second] > 0
	a.decrement()
	a.cells[first], a.cells[second] = stableMax, stableMax
	return seen
}

// decrement decrements P cells from a random one on, and wraps around at the end of the
// array.
func (a *anyCell) decrement() {
	from := a.random.IntN(len(a.cells))
	end := min(from+a.decay, len(a.cells))
	for _, part := range [][]uint8{a.cells[from:end], a.cells[:a.decay-(end-from)]} {
		for i, c := range part {
			part[i] = c - min(c, 1)
		}
	}
}

func (a *anyCell) position(x uint64) uint64 {
	position, _ := bits.Mul64(x, uint64(len(a.cells)))
	return position
}

func (a *anyCell) Bits() int { return len(a.cells) * stableBits }

// delayed is the block decaying Bloom filter with delayed decrements: instead of
// decrementing all counters after each block, it counts blocks modulo half the range of a
// counter, and a counter is live if it is larger than that running one; all are lowered
// when the running one returns to zero.
//
// The paper's column has a fault: a counter is live there if it is as large as the
// running one. So while that is zero, counters of zero are live, and every element is
// reported.
type delayed struct {
	counters []uint32
	width    int    // bits of a counter, and the number of hash functions
	half     uint32 // 2^(width-1), the running counter's period
	block    int    // elements of a block
	reach    uint32 // number of further blocks for which a counter is live
	margin   uint32 // by which a live counter is larger than the running one: 1, or 0 with the fault
	running  uint32
	left     int // elements until the running counter moves
	pos      []uint64
}

// newDelayed returns a filter with counters of ceil(sqrt(M ln(2) / W)) bits and as many
// hash functions, which is the best number for M/bits counters.
func newDelayed(memory, window int, faulty bool) *delayed {
	width := int(math.Ceil(math.Sqrt(float64(memory) * math.Ln2 / float64(window))))
	half := 1 << (width - 1)
	block := (window-1)/(half-1) + 1
	f := &delayed{
		counters: make([]uint32, memory/width), width: width, half: uint32(half),
		block: block, reach: uint32((window-1)/block + 1), margin: 1, pos: make([]uint64, width),
	}
	if faulty {
		f.reach, f.margin = uint32(window/block+1), 0
	}
	return f
}

func (f *delayed) TestAndSet(d digest.Digest) (seen bool) {
	f.locate(d)
	seen = true
	for _, i := range f.pos {
		seen = seen && f.counters[i] >= f.running+f.margin
	}
	if f.left == 0 {
		f.left = f.block
		f.advance()
	}
	f.left--
	for _, i := range f.pos {
		f.counters[i] = f.running + f.reach + f.margin
	}
	return seen
}

// advance begins a block.
func (f *delayed) advance() {
	if f.running++; f.running < f.half {
		return
	}
	f.running = 0
	for i, c := range f.counters {
		f.counters[i] = max(c, f.half) - f.half
	}
}

// locate sets pos by enhanced double hashing, as the filters of engine/paper do: with a
// constant step many elements would have only a few counters, since m has many divisors.
func (f *delayed) locate(d digest.Digest) {
	m := uint64(len(f.counters))
	at, _ := bits.Mul64(d[1], m)
	step, _ := bits.Mul64(d[0], m)
	for i := range f.pos {
		f.pos[i] = at
		if at += step; at >= m {
			at -= m
		}
		step = (step + uint64(i) + 1) % m
	}
}

func (f *delayed) Bits() int { return len(f.counters) * f.width }
