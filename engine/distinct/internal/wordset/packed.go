// SPDX-License-Identifier: Apache-2.0

package wordset

import (
	"encoding/binary"
	"iter"
	"slices"
)

// Packed is a set of words in the groups in which they came, for sets that are kept and looked at once. A
// group has all words with the same top bits, in any order. A word takes the whole bytes of its other bits.
// The zero value is empty.
type Packed struct {
	bytes []byte
	shift uint   // of a word to the number of its group
	next  uint64 // number behind the last group
}

// Reset forgets the words, and makes room for some of other groups: a word has shift bits below the number of its
// group.
func (p *Packed) Reset(shift uint, words uint64) {
	*p = Packed{bytes: slices.Grow(p.bytes[:0], int(words)*p.size(shift)+int(words)/2), shift: shift}
}

// smallPacked is the size up to which an empty Packed keeps its memory for another set.
const smallPacked = 512 << 10

// Free forgets the words, and gives back much memory.
func (p *Packed) Free() {
	if p.bytes = p.bytes[:0]; cap(p.bytes) > smallPacked {
		p.bytes = nil
	}
}

// size returns the bytes of a word.
func (*Packed) size(shift uint) int { return int(shift+7) / 8 }

// Add adds the next group. Numbers of groups ascend.
func (p *Packed) Add(group uint64, words []uint64) {
	skipped, size := group-p.next, p.size(p.shift)
	head := uint64(len(words)) << 1
	if skipped > 0 {
		head |= 1
	}
	b := binary.AppendUvarint(p.bytes, head)
	if skipped > 0 {
		b = binary.AppendUvarint(b, skipped)
	}
	at := len(b)
	b = slices.Grow(b, len(words)*size+8) // the last word is written whole, too
	whole := b[:cap(b)]
	for _, word := range words {
		binary.LittleEndian.PutUint64(whole[at:at+8], word)
		at += size
	}
	p.bytes, p.next = b[:at], group+1
}

// Groups yields the groups with their numbers. The words of a group are valid until the next.
func (p *Packed) Groups(yield func(group uint64, words []uint64) bool) {
	var r Reader
	for r.Reset(p); r.Next() && yield(r.group, r.Words); {
	}
}

// Reader reads the groups of a Packed.
type Reader struct {
	First, Last uint64   // the words that the group may have
	Words       []uint64 // of the group
	from        *Packed
	at          int
	group       uint64
}

// Reset begins before the first group of p.
func (r *Reader) Reset(p *Packed) { *r = Reader{Words: r.Words[:0], from: p, group: ^uint64(0)} }

// Next reads the next group. Behind the last it reports false, and there are no words.
func (r *Reader) Next() bool {
	p := r.from
	r.Words = r.Words[:0]
	if r.at == len(p.bytes) {
		return false
	}
	head, n := binary.Uvarint(p.bytes[r.at:])
	r.at, r.group = r.at+n, r.group+1
	if head&1 != 0 {
		skipped, n := binary.Uvarint(p.bytes[r.at:])
		r.at, r.group = r.at+n, r.group+skipped
	}
	below := uint64(1)<<p.shift - 1
	r.First = r.group << p.shift
	r.Last = r.First | below
	r.Words = slices.Grow(r.Words, int(head>>1))[:head>>1]
	size, whole := p.size(p.shift), p.bytes[:cap(p.bytes)]
	for i := range r.Words {
		r.Words[i] = r.First | binary.LittleEndian.Uint64(whole[r.at:r.at+8])&below
		r.at += size
	}
	return true
}

// fewPairs is the number of pairs of words up to which all pairs are compared.
const fewPairs = 1 << 10

// Common returns how many words two sets have in common, and may change their order.
func Common(a, b []uint64) (both int) {
	if len(a)*len(b) <= fewPairs {
		for _, x := range a {
			for _, y := range b {
				if x == y {
					both++
				}
			}
		}
		return both
	}
	slices.Sort(a)
	slices.Sort(b)
	for len(a) > 0 && len(b) > 0 {
		x, y := a[0], b[0]
		if x == y {
			both++
		}
		if x <= y {
			a = a[1:]
		}
		if y <= x {
			b = b[1:]
		}
	}
	return both
}

// Blocks cuts n words, which ascend, into blocks for AppendBlock. A block is valid until the next.
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
