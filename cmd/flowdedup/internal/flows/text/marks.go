// SPDX-License-Identifier: Apache-2.0

package text

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/signs"
)

// marks has the signs of a part of the bytes read: of its blocks from first on, counted from the
// begin of the buffer.
type marks struct {
	blocks        [64]signs.Block
	first, marked int
	// bounds are the places of the separators of the line at hand, between the place in front of it
	// and that of its end. It has this many fields.
	bounds []int
	fields int
}

// mark finds the signs of the part that begins with a block. If the buffer has no such block, it
// returns false, and nothing is marked: more bytes may come.
func (r *Reader) mark(block int) bool {
	text := r.buf[min(block*signs.Bytes, len(r.buf)):]
	text = text[:min(len(r.blocks)*signs.Bytes, len(text))]
	quote := byte('"')
	if r.plain {
		quote = '\n'
	}
	signs.Find(r.blocks[:], text, r.separator, quote)
	r.marks.first, r.marked = block, (len(text)+signs.Bytes-1)/signs.Bytes
	return len(text) > 0
}

// line returns the length of the line at r.at with its end, 0 if that is not there yet. It finds the
// bounds of the fields of the line; of too many it finds some.
func (r *Reader) line() int {
	m, n, most := &r.marks, uint(1), uint(len(r.targets)+1)
	m.bounds[0] = r.at - 1
	from, inside := ^uint64(0)<<(uint(r.at)%signs.Bytes), uint64(0)
	for i := r.at / signs.Bytes; ; i++ {
		if uint(i-m.first) >= uint(m.marked) && !r.mark(i) {
			return 0
		}
		b, at := &m.blocks[uint(i-m.first)%uint(len(m.blocks))], i*signs.Bytes
		end := b.Ends & from
		from &= (end - 1) &^ end // what is in front of the first end
		found := b.Separators & from
		if quotes := b.Quotes & from; quotes|inside != 0 {
			for shift := 1; shift < signs.Bytes; shift *= 2 {
				quotes ^= quotes << shift // in the end, bits say that an odd number of quotes precedes
			}
			found &^= quotes ^ inside
			inside ^= uint64(int64(quotes) >> 63)
		}
		if n <= most {
			bounds, k := (*[signs.Bytes]int)(m.bounds[n:]), uint(0)
			for ; found != 0; found &= found - 1 {
				bounds[k%signs.Bytes] = at + bits.TrailingZeros64(found)
				k++
			}
			n += k
		}
		if end != 0 {
			at += bits.TrailingZeros64(end)
			m.bounds[n], m.fields = at, int(n)
			return at + 1 - r.at
		}
		from = ^uint64(0)
	}
}

// padded reports whether spaces around fields are among the separators of the line at hand.
func (r *Reader) padded() bool {
	for _, at := range r.bounds[:r.fields] {
		if isSpace(r.buf[at+1]) {
			return true
		}
	}
	return false
}
