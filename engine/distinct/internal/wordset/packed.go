// SPDX-License-Identifier: Apache-2.0

package wordset

import (
	"iter"
	"slices"
)

// Packed is a set of words in packed blocks, for sets that are kept but rarely looked at. A nil Packed
// is empty.
type Packed struct {
	blocks [][]byte
}

// Pack packs blocks of ascending words.
func Pack(blocks iter.Seq[[]uint64]) *Packed {
	p, packed := new(Packed), []byte(nil)
	for block := range blocks {
		packed = AppendBlock(slices.Grow(packed[:0], 8*len(block)), block)
		p.blocks = append(p.blocks, slices.Clone(packed))
	}
	return p
}

// Words yields the words in ascending order.
func (p *Packed) Words(yield func(uint64) bool) {
	next := p.Blocks()
	for block := next(); len(block) > 0; block = next() {
		for _, word := range block {
			if !yield(word) {
				return
			}
		}
	}
}

// Blocks returns a function that returns the blocks one after the other, and nil behind the last
// block. Each is valid until the next.
func (p *Packed) Blocks() func() []uint64 {
	var left [][]byte
	var block []uint64
	if p != nil {
		left = p.blocks
	}
	return func() []uint64 {
		if len(left) == 0 {
			return nil
		}
		var err error
		if block, err = Block(block[:0], left[0]); err != nil {
			panic("wordset: Packed: " + err.Error()) // an error in its own block is a bug
		}
		left = left[1:]
		return block
	}
}

// Blocks cuts ascending words, of which there are about n, into blocks of 8192, the last block shorter.
// Each is valid until the next.
func Blocks(words iter.Seq[uint64], n uint64) iter.Seq[[]uint64] {
	return func(yield func([]uint64) bool) {
		block := make([]uint64, 0, min(n, maxBlock))
		for word := range words {
			if block = append(block, word); len(block) < maxBlock {
				continue
			}
			if !yield(block) {
				return
			}
			block = block[:0]
		}
		if len(block) > 0 {
			yield(block)
		}
	}
}

// Common returns how many words two ascending sets have in common, as far as the words of both are at most
// the last word of either, and how many words of each this is.
func Common(a, b []uint64) (both, ofA, ofB int) {
	for ofA < len(a) && ofB < len(b) {
		x, y := a[ofA], b[ofB]
		if x == y {
			both++
		}
		if x <= y {
			ofA++
		}
		if y <= x {
			ofB++
		}
	}
	return both, ofA, ofB
}
