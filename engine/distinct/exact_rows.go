// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"math"
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// exactKind holds the differences between counters in exact rows. E is the type that
// their kernel looks up, W the word that it stores. The top bits of a word are the number
// of its line.
type exactKind[E any, W rowtable.Word] struct {
	name   string // for errors
	method string
	width  uint // bits a word
	// testAndSet is the kernel, with the contract of line.TestAndSetExact32.
	testAndSet func(lines []layout.Line, seen []uint64, elements []E, overflow []uint32) int
	// move moves the words of lines from to to-1 of src to dst. overwrites says that lines of dst need
	// not be empty.
	move       func(dst, src []layout.Line, from, to int)
	overwrites bool
	// thin removes the words with one of the bits of out from lines from to to-1, and
	// returns their number.
	thin    func(lines []layout.Line, from, to int, out W) int
	word    func(E) W
	element func(W) E // element with that word
	// words appends the words of line i.
	words  func(words []uint64, lines []layout.Line, i int) []uint64
	growAt func(lines int) uint64 // the count at which the given number of lines grow
	cells  func(lines int) int    // cells of each of the given number of lines
}

// exactRows is common to all counters in exact rows: lines that double, or are thinned
// where there is no more memory, and the state of such passes.
type exactRows[E any, W rowtable.Word] struct {
	exactState
	rows     rowtable.Rows[W]
	kind     *exactKind[E, W]
	sides    *rowtable.Sides[E] // nil before the first pass
	maxLines int                // number of lines after which a bitmap follows
	narrow   int                // number of lines in use, 0 for all: see setNarrow

	unsampled   int // elements of this call that came before a sample was counted
	overflowing [rowtable.Step]uint32
	overflow    [rowtable.Step]W // words that overflow
	words       []uint64         // of a line
	seen        [rowtable.Step / 64]uint64
}

// exactState is the part of exactRows that snapshots contain.
type exactState struct {
	held       uint64 // elements that are remembered
	firsts     [maxSampleLevel + 1]uint64
	level      uint   // of the sample
	growAt     uint64 // the number of elements at which to grow
	position   int    // in the stream, modulo Step
	first      int    // lines to start with
	maxAllowed int    // limit of lines, 0 for none
}

// maxSampleLevel is the level of the smallest sample: one element in 2^32. Keyed digests
// never need a smaller sample.
const maxSampleLevel = 32

// start makes the first lines, a power of two.
func (x *exactRows[E, W]) start(kind *exactKind[E, W], lines, maxLines int, factor uint64) error {
	x.kind, x.first, x.maxLines = kind, lines, maxLines
	shape := rowtable.Shape{Name: kind.name, Width: kind.width, Cells: kind.cells, Factor: factor, Overwrites: kind.overwrites}
	if err := x.rows.Open(shape, lines); err != nil {
		return err
	}
	x.growAt = kind.growAt(lines)
	return nil
}

// untilDecision makes a decision if it is due. It returns how many of the given elements
// come before the next decision.
func (x *exactRows[E, W]) untilDecision(elements int) int {
	if x.position == rowtable.Step {
		x.position = 0
		x.decide()
	}
	return min(rowtable.Step-x.position, elements)
}

// step handles elements between two decisions, and sets their bits of seen from bit at
// on.
func (x *exactRows[E, W]) step(seen []uint64, at int, elements []E) {
	if x.level == 0 && !x.rows.Passing() {
		x.lookup(&x.rows.Table, x.seen[:], elements)
		x.count(0, x.seen[:], len(elements))
	} else {
		x.lookupSides(elements)
	}
	if x.level == 0 && !x.rows.Thinning {
		x.unsampled = at + len(elements)
	}
	bitset.Or(seen, at, x.seen[:], len(elements))
	x.position += len(elements)
}

// count counts the first sightings among elements of a sample.
func (x *exactRows[E, W]) count(level uint, seen []uint64, elements int) {
	n := uint64(elements)
	for _, word := range seen[:(elements+63)/64] {
		n -= uint64(bits.OnesCount64(word))
	}
	x.held += n
	x.firsts[level] += n
}

// lookup tests and sets elements in one table.
func (x *exactRows[E, W]) lookup(table *rowtable.Table[W], seen []uint64, elements []E) {
	lines := x.lines(table)
	rowtable.KeepWords(table.Copying, elements, x.kind.word, x.rows.Shift(len(lines)))
	overflows := x.kind.testAndSet(lines, seen, elements, x.overflowing[:])
	if overflows > 0 && x.narrow > 0 {
		x.lookupWider(seen, elements, slices.Clone(x.overflowing[:overflows]))
		return
	}
	for at, i := range x.overflowing[:overflows] {
		x.overflow[at] = x.kind.word(elements[i])
	}
	table.Overflow.Fetch(x.overflow[:overflows])
	for at, i := range x.overflowing[:overflows] {
		if table.Overflow.TestAndSet(x.overflow[at]) {
			seen[i/64] |= 1 << (i % 64)
		}
	}
}

// sampleBits returns the bits that are 0 in elements of a sample.
func sampleBits[W rowtable.Word](level uint) W { return 1<<level - 1 }

// levels returns the levels of the samples that words from the mark on belong to, and
// those below it.
func (x *exactRows[E, W]) levels() [2]uint {
	if x.rows.Thinning {
		return [2]uint{x.level, x.level + 1}
	}
	return [2]uint{x.level, x.level}
}

// lookupSides tests and sets the sampled elements on both sides of the mark. The others
// count as seen.
func (x *exactRows[E, W]) lookupSides(elements []E) {
	a, levels := x.sides, x.levels()
	n := rowtable.Split(a, elements, x.kind.word, x.rows.Mark(), [2]W{sampleBits[W](levels[0]), sampleBits[W](levels[1])})
	for w := range x.seen {
		x.seen[w] = bitset.LowBits(len(elements) - 64*w)
	}
	var seen [rowtable.Step / 64]uint64
	for side, table := range []*rowtable.Table[W]{&x.rows.Table, x.rows.Target()} {
		x.lookup(table, seen[:], a.Elements[side][:n[side]])
		x.count(levels[side], seen[:], n[side])
		for w, word := range seen[:(n[side]+63)/64] {
			for fresh := ^word & bitset.LowBits(n[side]-64*w); fresh != 0; fresh &= fresh - 1 {
				i := a.At[side][64*w+bits.TrailingZeros64(fresh)]
				x.seen[i/64] &^= 1 << (i % 64)
			}
		}
	}
}

// decide begins to grow or to thin where that is due, or continues with it.
func (x *exactRows[E, W]) decide() {
	if !x.rows.Passing() && (x.held < x.growAt || !x.begin()) {
		return
	}
	x.work()
}

// begin begins a pass. Rows grow as long as they may and there is memory; after that they
// are thinned if there is a bound. Without a bound further elements overflow, and begin
// tries to grow again when there are twice as many.
func (x *exactRows[E, W]) begin() bool {
	next := 2 * x.rows.Lines()
	if next > x.maxLines {
		next = layout.BitmapLines
	}
	switch {
	case (x.maxAllowed == 0 || next <= x.maxAllowed) && x.rows.Grow(next) == nil:
	case x.maxAllowed > 0 && x.level < maxSampleLevel:
		x.rows.Thin()
	default:
		x.growAt *= 2
		return false
	}
	if x.sides == nil {
		x.sides = new(rowtable.Sides[E])
	}
	return true
}

// work handles the next lines of the pass.
func (x *exactRows[E, W]) work() {
	from, to, overflow := x.rows.Next()
	out := W(0)
	if x.rows.Thinning {
		out = sampleBits[W](x.level + 1)
		x.rows.Table.Copying.KeepRange(from, to)
		x.held -= uint64(x.kind.thin(x.rows.Table.Arena.Lines(), from, to, out))
	} else {
		x.kind.move(x.rows.Wider.Arena.Lines(), x.rows.Table.Arena.Lines(), from, to)
	}
	x.placeOverflow(overflow, out)
	thinned := x.rows.Thinning
	if !x.rows.Finish(from, to) {
		return
	}
	x.growAt = x.kind.growAt(x.rows.Lines())
	if thinned {
		x.level++
	}
}

// placeOverflow adds overflow words where the pass puts their lines, except words with
// one of the bits of out. x.seen is free between two steps.
func (x *exactRows[E, W]) placeOverflow(overflow rowtable.OverflowSet[W], out W) {
	elements, n := &x.sides.Elements[0], 0
	for y := range overflow.All {
		if y&out != 0 {
			x.held--
			continue
		}
		elements[n] = x.kind.element(y)
		if n++; n == len(elements) {
			x.lookup(x.rows.Target(), x.seen[:], elements[:n])
			n = 0
		}
	}
	x.lookup(x.rows.Target(), x.seen[:], elements[:n])
}

// sum estimates the number of elements by first sightings. Each first sighting in a
// sample of level l stands for 2^l: the sum has no bias, and its variance is the sum of
// 2^l (2^l - 1) (Ting, Streamed Approximate Counting of Distinct Elements, KDD 2014).
// That holds whenever levels change, as a first sighting in a sample stays a first sighting.
func (x *exactRows[E, W]) sum() (sum rowtable.SampleSum) {
	for level, n := range x.firsts[:x.levels()[1]+1] {
		sum.Add(n, uint8(level), 1, 1)
	}
	if level := x.levels()[1]; level > 0 {
		sum.Weight = math.Ldexp(1, int(level))
	}
	return sum
}

// counts returns the counts of the elements. missed is the number that the mean lacks.
func (x *exactRows[E, W]) counts(missed float64) engine.Counts {
	sum := x.sum()
	c := engine.Counts{MemoryBytes: x.rows.Bytes(), Method: x.kind.method}
	low, high := sum.Bounds()
	if sum.Weight > 1 {
		c.Method = "sampled-rows"
	}
	c.Distinct = uint64(math.Round(sum.Mean + missed))
	c.Low, c.High = min(low, c.Distinct), max(high+theory.PoissonQuantile(0.95, missed), c.Distinct)
	return c
}

// Unsampled returns how many elements of the last call of TestAndSet, from the first one
// on, came before a sample was counted. From then on, elements outside the sample count as
// seen, too.
func (x *exactRows[E, W]) Unsampled() int { return x.unsampled }

// Limit is as engine.Bounded says.
func (x *exactRows[E, W]) Limit(bytes int) { x.maxAllowed = max(1, bytes/layout.LineSize) }

// Needs is as engine.Bounded says.
func (x *exactRows[E, W]) Needs(more int) int {
	lines := x.rows.Final()
	for more > 0 && x.kind.growAt(lines) <= x.held+uint64(more) {
		if lines *= 2; lines > x.maxLines {
			lines = layout.BitmapLines
		}
	}
	return x.rows.BytesWith(lines)
}

// MemoryFor is as engine.Sized says, as far as Limit allows.
func (x *exactRows[E, W]) MemoryFor(elements uint64) int {
	lines := 1
	for lines < x.maxLines && (x.maxAllowed == 0 || 2*lines <= x.maxAllowed) && x.kind.growAt(lines) < elements {
		lines *= 2
	}
	return lines * layout.LineSize
}

// Populate is as engine.Sized says.
func (x *exactRows[E, W]) Populate() {
	x.rows.Table.Arena.Populate(0, x.rows.Lines())
}

// Close is as engine.Counter says.
func (x *exactRows[E, W]) Close() error { return x.rows.Close() }

// savedExact are the fields of exactRows in a snapshot.
type savedExact struct {
	rows rowtable.Saved
	exactState
}

func (s *savedExact) fields() snapshot.Fields {
	return append(s.rows.Fields(), &s.first, &s.maxAllowed, &s.held, &s.growAt, &s.position, &s.level, s.firsts[:])
}

// save returns the fields of the counter, and its overflow words.
func (x *exactRows[E, W]) save() (s savedExact, overflow [2][]W) {
	if x.narrow > 0 {
		x.widen(x.rows.Lines())
	}
	rows, overflow := x.rows.State()
	return savedExact{rows, x.exactState}, overflow
}

// check returns an error unless the fields are consistent, with from least to most lines,
// which may grow to next.
func (s *savedExact) check(least, most, next uint64) error {
	if err := s.rows.Check(least, most, next); err != nil {
		return err
	}
	if n := uint64(s.first); n < least || n > most || n&(n-1) != 0 || n > s.rows.Lines ||
		s.position < 0 || s.position > rowtable.Step || s.level > maxSampleLevel ||
		s.rows.Thinning && s.level == maxSampleLevel || s.maxAllowed < 0 || uint64(s.maxAllowed) > rowtable.MaxLines ||
		s.rows.Overflow+s.rows.OverflowWider > s.held || s.rows.Passed != 0 && s.rows.Wider == 0 && !s.rows.Thinning {
		return snapshot.ErrInconsistent
	}
	return nil
}

// load reads the rest of a counter.
func (x *exactRows[E, W]) load(in *snapshot.Reader, s *savedExact) error {
	if err := x.rows.Load(in, &s.rows); err != nil {
		return err
	}
	x.exactState, x.narrow = s.exactState, 0
	if x.rows.Passing() || x.level > 0 {
		x.sides = new(rowtable.Sides[E])
	}
	return nil
}
