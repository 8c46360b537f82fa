// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// maxCellBits bounds a cell's width. Its largest value is then 65535, more than any use
// needs.
const maxCellBits = 16

// cells is an array of unsigned counters of width bits, packed without gaps: a cell may
// straddle two words. The caller keeps indexes below the count.
type cells struct {
	words []uint64
	count uint64
	width uint64
	top   uint64 // the largest value of a cell, 2^width - 1
}

// newCells returns count cells that are zero. count * width must be at most
// maxBits, width from 1 to 64.
func newCells(count, width int) cells {
	words := make([]uint64, (count*width+63)/64)
	layout.AdviseHuge(words)
	return cells{words: words, count: uint64(count), width: uint64(width), top: 1<<width - 1}
}

// Bits returns the memory of the cells. It implements [Filter] for filters without other
// memory.
func (c *cells) Bits() int { return int(c.count * c.width) }

func (c *cells) get(i uint64) uint64 {
	bit := i * c.width
	word, shift := bit/64, bit%64
	value := c.words[word] >> shift
	if shift+c.width > 64 {
		value |= c.words[word+1] << (64 - shift)
	}
	return value & c.top
}

// put stores value, at most c.top, in cell i.
func (c *cells) put(i, value uint64) {
	bit := i * c.width
	word, shift := bit/64, bit%64
	c.words[word] = c.words[word]&^(c.top<<shift) | value<<shift
	if shift+c.width > 64 {
		shift = 64 - shift
		c.words[word+1] = c.words[word+1]&^(c.top>>shift) | value>>shift
	}
}

// bit returns cell i of cells of one bit.
func (c *cells) bit(i uint64) uint64 { return c.words[i/64] >> (i % 64) & 1 }

// exchange stores a bit in cell i of cells of one bit, and returns the bit before.
func (c *cells) exchange(i, bit uint64) (before uint64) {
	word := &c.words[i/64]
	before = *word >> (i % 64) & 1
	*word ^= (before ^ bit) << (i % 64)
	return before
}

// clearRun clears n adjacent cells of one bit from i on. The first cell follows the last.
func (c *cells) clearRun(i uint64, n int) {
	for left := uint64(n); left > 0; {
		some := min(left, 64-i%64, c.count-i)
		c.words[i/64] &^= (1<<some - 1) << (i % 64)
		left -= some
		if i += some; i == c.count {
			i = 0
		}
	}
}

// down is the step that decrements a cell when it is added.
const down = math.MaxUint64

// add adds 1 or down to cell i, unless the cell has the value stays.
func (c *cells) add(i, step, stays uint64) {
	if value := c.get(i); value != stays {
		c.put(i, value+step)
	}
}

// share returns the share of cells whose value is at least least. It reads the whole array.
func (c *cells) share(least uint64) float64 {
	found := 0
	for i := range c.count {
		if c.get(i) >= least {
			found++
		}
	}
	return float64(found) / float64(c.count)
}

// allSet reports whether none of the cells is zero.
func (c *cells) allSet(pos []uint64) bool {
	if c.width == 1 {
		return c.allBits(pos)
	}
	for _, i := range pos {
		if c.get(i) == 0 {
			return false
		}
	}
	return true
}

// allBits is allSet for cells of one bit.
func (c *cells) allBits(pos []uint64) bool {
	for _, i := range pos {
		if c.bit(i) == 0 {
			return false
		}
	}
	return true
}

// fill gives cells their largest value.
func (c *cells) fill(pos []uint64) {
	for _, i := range pos {
		c.put(i, c.top)
	}
}

// prefetch reads the words in which cells begin, so that they are cached. The loop does
// nothing else, so as many reads wait for memory at once as the processor allows. It is
// not inlined, so that the compiler removes neither the sum nor the reads.
//
//go:noinline
func (c *cells) prefetch(pos []uint64) (sum uint64) {
	for _, i := range pos {
		sum += c.words[i*c.width/64]
	}
	return sum
}

// hashed are cells that an element's hash functions select.
type hashed struct {
	cells
	hash   func(pos []uint64, d digest.Digest, m uint64) // positions, or independent
	space  uint64                                        // the range of a hash function
	stride uint64                                        // from the start of a function's hash space to the next start
	pos    []uint64                                      // the cells of the element located last
}

// newHashed returns count cells that are zero, and k hash functions that share them.
func newHashed(count, width, k int) hashed {
	return hashed{
		cells: newCells(count, width), hash: positions, space: uint64(count), pos: make([]uint64, k),
	}
}

// newPartitioned returns k arrays of size bits that are zero, with a hash function for each.
func newPartitioned(size, k int) hashed {
	h := newHashed(size*k, 1, k)
	h.space, h.stride = uint64(size), uint64(size)
	return h
}

// locate fills pos with the element's cells.
func (h *hashed) locate(d digest.Digest) {
	h.hash(h.pos, d, h.space)
	if h.stride > 0 {
		for function := range h.pos {
			h.pos[function] += uint64(function) * h.stride
		}
	}
}

// functions returns the number of hash functions.
func (h *hashed) functions() int { return len(h.pos) }

// test locates an element, and reports whether none of its cells is zero.
func (h *hashed) test(d digest.Digest) (seen bool) {
	h.locate(d)
	return h.allSet(h.pos)
}

// foresee implements foreseer.
func (h *hashed) foresee(indexes []uint64, digests []digest.Digest) ([]uint64, *cells) {
	for _, d := range digests {
		h.locate(d)
		indexes = append(indexes, h.pos...)
	}
	return indexes, &h.cells
}

// positions fills pos with the values of len(pos) hash functions of range [0,m)
// by enhanced double hashing (Dillinger, Manolios, Bloom Filters in
// Probabilistic Verification, FMCAD 2004, section 5.2):
//
//	pos[i] = x + i y + (i^3-i)/6 mod m
//
// where x and y are the digest's halves, each mapped to [0,m). Plain double hashing gives
// some pairs of x and y the same set in another order. The cubic term keeps these
// elements apart. m is from 1 to 2^62.
func positions(pos []uint64, d digest.Digest, m uint64) {
	x, y := scale(d[1], m), scale(d[0], m)
	for i := range pos {
		pos[i] = x
		if x += y; x >= m {
			x -= m
		}
		if y += uint64(i) + 1; y >= m {
			y %= m
		}
	}
}

// scale maps a uniform 64-bit value to [0,m) by its high bits.
func scale(x, m uint64) uint64 {
	high, _ := bits.Mul64(x, m)
	return high
}

// independent is layout.Positions for digests.
func independent(pos []uint64, d digest.Digest, m uint64) { layout.Positions(pos, d, m) }

// newRandom returns the generator of a filter's random choices. Each filter has its own,
// so its run does not depend on other filters.
func newRandom(seed uint64) *rand.Rand { return rand.New(newSource(seed)) }

func newSource(seed uint64) *rand.PCG {
	return rand.NewPCG(seed, layout.Golden) // any constant as the second half of the state
}
