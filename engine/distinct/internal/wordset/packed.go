// SPDX-License-Identifier: Apache-2.0

package wordset

import (
	"iter"
	"slices"
)

// Packed is a set of words in packed blocks, for sets that are kept but rarely looked at.
type Packed struct {
	blocks [][]byte
	buf    []uint64
}

// Pack packs ascending words.
func Pack(words iter.Seq[uint64]) *Packed {
	p := new(Packed)
	var packed []byte
	for block := range Blocks(words) {
		packed = AppendBlock(packed[:0], block)
		p.blocks = append(p.blocks, slices.Clip(slices.Clone(packed)))
	}
	return p
}

// Blocks cuts ascending words into blocks of 8192, the last block shorter. Each is valid
// until the next.
func Blocks(words iter.Seq[uint64]) iter.Seq[[]uint64] {
	return func(yield func([]uint64) bool) {
		block := make([]uint64, 0, maxBlock)
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

// Words yields the words in ascending order, to one caller at a time.
func (p *Packed) Words(yield func(uint64) bool) {
	for _, b := range p.blocks {
		var err error
		if p.buf, err = Block(p.buf[:0], b); err != nil {
			panic("wordset: Packed: " + err.Error()) // an error in its own block is a bug
		}
		for _, word := range p.buf {
			if !yield(word) {
				return
			}
		}
	}
}
