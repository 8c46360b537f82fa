// SPDX-License-Identifier: Apache-2.0

package wordset

import (
	"encoding/binary"
	"iter"
	"slices"
)

// Packed is a set of words in the groups in which they came, for sets that are kept and looked at once. A
// group has all words with the same top bits, in any order. A word takes the whole bytes of its other bits, or 8 bytes
// in a small set, which needs no unpacking. The zero value is empty.
type Packed struct {
	bytes []byte
	whole []uint64 // groups of a small set, each behind the number of its words
	small bool
	shift uint   // of a word to the number of its group
	next  uint64 // number behind the last group
}

// Reset forgets the words, and makes room for some of other groups: a word has shift bits below the number of its
// group.
func (p *Packed) Reset(shift uint, words uint64) {
	*p = Packed{bytes: p.bytes[:0], whole: p.whole[:0], small: words <= smallSet, shift: shift}
	if p.small {
		p.whole = slices.Grow(p.whole, int(words+words/2))
	} else {
		p.bytes = slices.Grow(p.bytes, int(words)*p.size(shift)+int(words)/2)
	}
}

// smallSet is the number of words up to which they are not packed. They take 72 KiB, as the smallest counter may.
const smallSet = 6 << 10

// smallPacked is the size up to which an empty Packed keeps its memory for another set.
const smallPacked = 512 << 10

// Free forgets the words, and gives back much memory.
func (p *Packed) Free() {
	if p.bytes, p.whole = p.bytes[:0], p.whole[:0]; cap(p.bytes) > smallPacked {
		p.bytes = nil
	}
}

// size returns the bytes of a word.
func (*Packed) size(shift uint) int { return int(shift+7) / 8 }

// Add adds the next group, which has a word. Numbers of groups ascend.
func (p *Packed) Add(group uint64, words []uint64) {
	if p.small {
		p.whole = append(append(p.whole, uint64(len(words))), words...)
		return
	}
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
	unpacked    []uint64
	at          int
	group       uint64
}

// Reset begins before the first group of p.
func (r *Reader) Reset(p *Packed) { *r = Reader{unpacked: r.unpacked, from: p, group: ^uint64(0)} }

// Next reads the next group. Behind the last it reports false, and there are no words.
func (r *Reader) Next() bool {
	p := r.from
	below := uint64(1)<<p.shift - 1
	if r.Words = nil; r.at == len(p.bytes)+len(p.whole) { // either is empty
		return false
	}
	if p.small {
		first := r.at + 1
		r.at = first + int(p.whole[r.at])
		r.Words = p.whole[first:r.at]
		r.group = r.Words[0] >> p.shift
		r.First, r.Last = r.Words[0]&^below, r.Words[0]|below
		return true
	}
	head, n := binary.Uvarint(p.bytes[r.at:])
	r.at, r.group = r.at+n, r.group+1
	if head&1 != 0 {
		skipped, n := binary.Uvarint(p.bytes[r.at:])
		r.at, r.group = r.at+n, r.group+skipped
	}
	r.First = r.group << p.shift
	r.Last = r.First | below
	r.unpacked = slices.Grow(r.unpacked[:0], int(head>>1))[:head>>1]
	size, whole := p.size(p.shift), p.bytes[:cap(p.bytes)]
	for i := range r.unpacked {
		r.unpacked[i] = r.First | binary.LittleEndian.Uint64(whole[r.at:r.at+8])&below
		r.at += size
	}
	r.Words = r.unpacked
	return true
}

// Matcher counts common words, in a small hash table that is never cleared. The zero value is ready.
type Matcher struct {
	slots [512]struct{ word, turn uint64 } // a slot is taken if its turn is the latest
	turn  uint64                           // number of the call
}

// Common returns how many words two sets have in common, and may change their order. Each set has a word once.
func (m *Matcher) Common(a, b []uint64) (both int) {
	if len(b) > len(m.slots)/8 {
		return sorted(a, b)
	}
	m.turn++
	turn, others := m.turn, 0 // words of b whose slots are taken come first
	for i, y := range b {
		slot := &m.slots[y%uint64(len(m.slots))]
		if slot.turn == turn {
			b[i], b[others] = b[others], y
			others++
			continue
		}
		slot.word, slot.turn = y, turn
	}
	for _, x := range a {
		slot := &m.slots[x%uint64(len(m.slots))]
		if (slot.word^x)|(slot.turn^turn) == 0 {
			both++
		}
	}
	for _, y := range b[:others] {
		for _, x := range a {
			if x == y {
				both++
			}
		}
	}
	return both
}

// sorted is Common for sets of any size.
func sorted(a, b []uint64) (both int) {
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
