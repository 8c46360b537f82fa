// SPDX-License-Identifier: Apache-2.0

// Package rivals compares the engine's filters with modern ones at equal memory, on
// streams that are not the papers'. It shows which methods are worth choosing.
//
// It holds reference implementations of the rivals that package engine/paper does not
// have: plain, deterministic and slow. If an element's cells may lie anywhere or in one
// line of 512 bits, a filter takes the number of lines and their size; a single line is
// the whole memory.
package rivals

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/layout"
)

// windowed is a filter over a sliding window of time. It serves one goroutine.
type windowed interface {
	// TestAndSet reports whether the element was seen within the window before now, as
	// far as the filter knows, and remembers it. Times never decrease, and are 0 or more;
	// their unit is the window's.
	TestAndSet(d digest.Digest, now int64) (seen bool)
	// Bits returns the memory that the method accounts for.
	Bits() int
}

// untimed is a filter that ignores time.
type untimed struct{ paper.Filter }

func (u untimed) TestAndSet(d digest.Digest, _ int64) (seen bool) { return u.Filter.TestAndSet(d) }

// Close frees memory that Go's collector does not manage.
func (u untimed) Close() error { return stream.Close(u.Filter) }

// windowFilter is the engine's packet filter, element by element.
type windowFilter struct {
	filter engine.PacketFilter
	seen   [1]uint64
	digest [1]digest.Digest
	time   [1]int64
}

// newWindowFilter returns a filter of the engine, element by element.
func newWindowFilter[F engine.PacketFilter](filter F, err error) windowed {
	return &windowFilter{filter: result.Must(filter, err)}
}

// TestAndSet implements windowed.
func (p *windowFilter) TestAndSet(d digest.Digest, now int64) (seen bool) {
	p.digest[0], p.time[0] = d, now
	p.filter.TestAndSet(p.seen[:], p.digest[:], p.time[:], nil)
	return p.seen[0] != 0
}

// Bits implements windowed.
func (p *windowFilter) Bits() int { return 8 * p.filter.Stats().MemoryBytes }

// Close frees the memory, which Go's collector does not manage.
func (p *windowFilter) Close() error { return p.filter.Close() }

// lineBits is the size of a cache line.
const lineBits = 512

// hashes holds where an element lies: its line, and the seed of its positions there.
type hashes struct {
	line uint64
	seed uint64
}

// hashesOf chooses the line by multiply-shift of one half of the digest. The remainder
// and the other half give the positions.
func hashesOf(d digest.Digest, lines int) hashes {
	line, rest := bits.Mul64(d[1], uint64(lines))
	return hashes{line: line, seed: d[0] ^ bits.RotateLeft64(rest, 32)}
}

// at returns the value, below m, of the element's hash function number i: number i of the
// SplitMix64 sequence (Steele, Lea, Flood, 2014). Double hashing does not suffice: lines
// have so few positions that two of them cannot distinguish elements.
func (p hashes) at(i int, m uint64) uint64 {
	high, _ := bits.Mul64(layout.Mix(p.seed+uint64(i+1)*0x9e3779b97f4a7c15), m)
	return high
}

// fingerprintOf returns the fingerprint of width bits, from 1 to 64, that is stored
// for an element: uniform over 2^width - 1 values, since 0 is an empty cell.
func fingerprintOf(d digest.Digest, width int) uint64 {
	high, _ := bits.Mul64(d[0], ^uint64(0)>>(64-width))
	return high + 1
}

// rowShape is a row of fingerprints with a time stamp each.
type rowShape struct {
	cells   int // at least 1
	width   int // of a fingerprint, from 1 to 64 bits
	rowBits int // accounted size of a row
}

// timedRows are rows whose cells hold a fingerprint and the tick when it was last seen.
// An element's digest chooses its row and gives its fingerprint, and only fingerprints of
// that row are compared or evicted. Elements up to one tick older than the window (two if
// no whole ticks make the window) are reported too.
//
// A full row loses the least recently seen element, by its tick. This is the only cause of
// misses: with a mean of lambda elements of the window in a row, the chance at age a is
// P(Poisson(lambda a/window) >= cells).
//
// The principle is flowdedup's, in shapes that window.Timed and window.Coarse do not have.
// Stamps of a few bits would count ticks modulo their range, and rows be swept before an
// expired cell looks young. Whole ticks give the same answers.
//
// Other rules of replacement make quotient hash tables of a sliding window (Géraud,
// Lombard-Platet, Naccache, 2019, leave windows to future work): see [rule].
type timedRows struct {
	rowShape
	rule   rule
	random *rand.Rand // of randomCell
	rows   int        // at least 1
	held   []timedCell
	tick   int64 // length
	ticks  int64 // of the window
}

// rule says what happens to a row without the element. Expired cells are taken first.
type rule uint8

const (
	leastRecent rule = iota // the element that was not seen for longest leaves
	randomCell              // as in a QHT, a random one leaves
	oldestCell              // as in a QQHTD, copies come in too, and the oldest cell leaves
)

// timedCell is an element that was seen.
type timedCell struct {
	fingerprint uint64
	last        int64 // the tick up to which it is in the window; 0 for an empty one
}

// newTimedRows returns empty rows. A window of at least 1 has ticks at most.
func newTimedRows(s rowShape, rows, ticks int, window int64) *timedRows {
	tick := (window-1)/int64(ticks) + 1
	return &timedRows{
		rowShape: s, random: rand.New(rand.NewPCG(1, 5)), rows: rows, held: make([]timedCell, rows*s.cells),
		tick: tick, ticks: (window-1)/tick + 1,
	}
}

// TestAndSet implements windowed, in time proportional to a row's cells.
func (t *timedRows) TestAndSet(d digest.Digest, now int64) (seen bool) {
	tick, value := now/t.tick, fingerprintOf(d, t.width)
	first := int(hashesOf(d, t.rows).line) * t.cells
	row := t.held[first : first+t.cells]
	oldest := 0
	for i, c := range row {
		if c.fingerprint == value && c.last >= tick {
			if seen = true; t.rule != oldestCell {
				row[i].last = tick + t.ticks
				return true
			}
		}
		// Any expired cell is as good as the first.
		if max(c.last, tick-1) < max(row[oldest].last, tick-1) {
			oldest = i
		}
	}
	if t.rule == randomCell && row[oldest].last >= tick {
		oldest = t.random.IntN(len(row))
	}
	row[oldest] = timedCell{value, tick + t.ticks}
	return seen
}

// Bits returns the memory that rows are accounted for.
func (t *timedRows) Bits() int { return t.rows * t.rowBits }

// ring is the common part of filters of slices that age: each line has an equal part of
// each slice. At the end of a generation, which is a span of time, the oldest slice is
// cleared and becomes the youngest.
type ring struct {
	slices     []stream.Known // the bits of each, line by line
	lines      int            // at least 1
	lineBits   int            // at least as many as slices
	slice      uint64         // bits of a slice in a line: floor(lineBits/slices)
	generation int64          // length
	turns      int64          // generations begun since time 0
	youngest   int            // slice
}

// newRing returns empty slices for a window of at least 1, which has some generations.
func newRing(lines, lineBits, slices, generations int, window int64) ring {
	r := ring{
		slices: make([]stream.Known, slices), lines: lines, lineBits: lineBits,
		slice: uint64(lineBits / slices), generation: (window-1)/int64(generations) + 1,
	}
	for i := range r.slices {
		r.slices[i] = stream.NewKnown(lines * (lineBits / slices))
	}
	return r
}

// at returns the slice of an age, 0 for the youngest.
func (r *ring) at(age int) int { return (r.youngest + age) % len(r.slices) }

// bit returns the bit of an element's hash function number i in every slice.
func (r *ring) bit(p hashes, i int) uint64 { return p.line*r.slice + p.at(i, r.slice) }

// turn begins the generations up to now. More turns than slices change nothing.
func (r *ring) turn(now int64) {
	due := now / r.generation
	r.turns = max(r.turns, due-int64(len(r.slices)))
	for ; r.turns < due; r.turns++ {
		r.youngest = r.at(len(r.slices) - 1)
		clear(r.slices[r.youngest])
	}
}

// Bits implements windowed.
func (r *ring) Bits() int { return r.lines * r.lineBits }

// jumping is a jumping window of Bloom filters (Metwally, Agrawal, El Abbadi, Duplicate
// Detection in Click Streams, 2005, section 5.2.4): a filter for each of J sub-windows
// and one for the running one. An element is reported if any filter has it, and is
// inserted into the running one.
//
// It misses nothing within the window, and still reports elements of up to one sub-window
// before.
//
// Interpretation: filters are separate and queried one by one, while the article adds and
// subtracts counting filters, which takes more memory. All share their hash functions.
type jumping struct {
	ring
	k int // hash functions, from 1 to 256
}

func newJumping(lines, lineBits, jumps, k int, window int64) *jumping {
	return &jumping{newRing(lines, lineBits, jumps+1, jumps, window), k}
}

// TestAndSet implements windowed, in time proportional to J K.
func (j *jumping) TestAndSet(d digest.Digest, now int64) (seen bool) {
	j.turn(now)
	p := hashesOf(d, j.lines)
	for _, filter := range j.slices {
		seen = seen || j.holds(filter, p)
	}
	for i := range j.k {
		j.slices[j.youngest].Add(j.bit(p, i))
	}
	return seen
}

func (j *jumping) holds(filter stream.Known, p hashes) bool {
	for i := range j.k {
		if !filter.Has(j.bit(p, i)) {
			return false
		}
	}
	return true
}

// agePartitioned is the age-partitioned Bloom filter of Shtul, Baquero, Almeida,
// Age-Partitioned Bloom Filters, 2020: K + L slices with one hash function each, in the
// order of their age. An element sets its bits in the K youngest, and is reported when K
// neighboring slices have its bits.
//
// It misses nothing within L generations, which are the window here. It still reports
// elements of up to one generation before, apart from false positives.
//
// Interpretation: the implementation is from memory of the article. A generation is a
// span of time; the article also counts insertions. Reported elements are set again,
// since the window slides.
type agePartitioned struct {
	ring
	k int // slices that an element is set in, from 1 to 256
}

func newAgePartitioned(lines, lineBits, k, l int, window int64) *agePartitioned {
	return &agePartitioned{newRing(lines, lineBits, k+l, l, window), k}
}

// TestAndSet implements windowed, in time proportional to K + L. A slice keeps its hash
// function while it ages.
func (a *agePartitioned) TestAndSet(d digest.Digest, now int64) (seen bool) {
	a.turn(now)
	p, run := hashesOf(d, a.lines), 0
	for age := 0; age < len(a.slices) && run < a.k; age++ {
		slice := a.at(age)
		if run++; !a.slices[slice].Has(a.bit(p, slice)) {
			run = 0
		}
	}
	for age := range a.k {
		slice := a.at(age)
		a.slices[slice].Add(a.bit(p, slice))
	}
	return run == a.k
}

// bestAgePartitioned returns the K up to 16 and L up to 40 with the lowest false
// positive rate for lines of size bits that hold load elements of a window on average.
func bestAgePartitioned(size int, load float64) (k, l int) {
	lowest := math.Inf(1)
	for tryK := 1; tryK <= 16; tryK++ {
		for tryL := 1; tryL <= 40 && tryK+tryL <= size; tryL++ {
			if rate := agePartitionedFPR(tryK, tryL, size, load); rate < lowest {
				lowest, k, l = rate, tryK, tryL
			}
		}
	}
	return k, l
}

// agePartitionedFPR returns the false positive rate at the end of a generation. The
// number of elements in a full slice, which come from K generations, is a Poisson
// variable, and the slices of a crowded line hold about equally many. Measured rates in
// lines are within a third of this. For large lines the approximation makes no
// difference.
func agePartitionedFPR(k, l, size int, load float64) float64 {
	const (
		unit    = 1000 // of an element, since a line's generation may have less than one
		crowded = 1000
	)
	rate := func(slice float64) float64 {
		return forms.AgePartitioned{
			K: k, L: l, SliceBits: unit * (size / (k + l)),
			Generation: int(unit * slice / float64(k)),
		}.FullFPR()
	}
	mean := load * float64(k) / float64(l)
	if mean > crowded {
		return rate(mean)
	}
	sum := 0.0
	for x := 1.0; x < mean+8*math.Sqrt(mean)+8; x++ {
		factorial, _ := math.Lgamma(x + 1)
		sum += rate(x) * math.Exp(x*math.Log(mean)-mean-factorial)
	}
	return sum
}
