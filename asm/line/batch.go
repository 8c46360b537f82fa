// SPDX-License-Identifier: Apache-2.0

package line

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
)

// batch is the kernels' data of up to 64 elements. It is filled for all of them before
// the first element is looked up, so that vectors can do this work. The kernels in assembly
// know its layout.
type batch struct {
	offset [64]uint64 // of the element's line, or its word, in bytes from the first line
	low    [64]uint64 // the low half of its digest, or a value that a kind of line derives from it
	random [64]uint64 // its random word (see prng), if the kernel needs random words
}

// fill fills the batch with 1 to 64 digests. With words, an element has one of the words
// of all lines, else a line. The top bits of the product that chooses the line choose the
// word, too.
func (b *batch) fill(digests []digest.Digest, lines int, words bool, position uint64, random bool) {
	within := uint64(0) // the bits of an offset that lie in a line
	if words {
		within = 64 - 8
	}
	done := b.fillVectors(digests, lines, within, position, random)
	for i := done; i < len(digests); i++ {
		d := &digests[i]
		line, rest := bits.Mul64(d[1], uint64(lines))
		b.offset[i&63] = line*64 | rest>>58&within
		b.low[i&63] = d[0]
		if random {
			b.random[i&63] = prng(d[0], position+uint64(i))
		}
	}
	b.repeatFirst(len(digests))
}

// fillExact32 fills the batch with 1 to 64 words. The remainder of a word is its low
// shift bits; low has the remainder plus one in each cell.
func (b *batch) fillExact32(words []uint32, shift uint, g *rowGeometry) {
	for i := b.fillExact32Vectors(words, shift, g); i < len(words); i++ {
		y := uint64(words[i])
		b.offset[i&63] = y >> shift * 64
		b.low[i&63] = (y&(1<<shift-1) + 1) * g.ones
	}
	b.repeatFirst(len(words))
}

// fillExact64 fills the batch with 1 to 64 digests, whose low halves, shifted right, are
// the numbers of their lines.
func (b *batch) fillExact64(digests []digest.Digest, shift uint) {
	for i := b.fillExact64Vectors(digests, shift); i < len(digests); i++ {
		low := digests[i][0]
		b.offset[i&63] = low >> (shift & 63) * 64
		b.low[i&63] = max(low, 1)
	}
	b.repeatFirst(len(digests))
}

// fillSliding fills the batch with 1 to 64 words, with their cells as low halves.
func (b *batch) fillSliding(words []uint64, dates []uint16, shift uint) {
	dates = dates[:len(words)]
	for i := b.fillSlidingVectors(words, dates, shift); i < len(words); i++ {
		word := words[i]
		b.offset[i&63] = word >> (shift & 63) * 64
		b.low[i&63] = layout.SlidingCell(word) | uint64(dates[i]&(layout.SlidingPresent-1))
	}
	b.repeatFirst(len(words))
}

// drop removes the elements whose bit in gone is set, and returns how many are left. It
// has no branches.
func (b *batch) drop(n int, gone uint64) (left int) {
	for i := range n {
		b.offset[left&63] = b.offset[i&63]
		b.low[left&63] = b.low[i&63]
		left += int(^gone >> (i & 63) & 1)
	}
	b.repeatFirst(left)
	return left
}

// repeatFirst sets the places from n on to the line of the first element. Kernels fetch
// all 64 lines, and may only touch lines of this call's elements.
func (b *batch) repeatFirst(n int) {
	for i := n; i < 64; i++ {
		b.offset[i&63] = b.offset[0]
	}
}

// touchLines loads a word of the line at each offset, so that all cache misses run at the
// same time. It must not be inlined: the compiler would remove loads without a use.
//
//go:noinline
func touchLines(lines []layout.Line, offsets []uint64) (sum uint64) {
	for _, offset := range offsets {
		sum += lines[offset/64][0]
	}
	return sum
}
