// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
)

const (
	candidateCells = 4
	// A table begins with 64 KiB, and has room for a million candidates at last: as many
	// as come in 10 ms at 100 million packets a second.
	leastCandidateLines = 1 << 10
	mostCandidateLines  = 1 << 18

	qualityBits = 12
)

// candidate is a packet that is kept unless a better copy comes.
type candidate struct {
	tag   uint64 // half of its digest
	value uint64 // 0 is empty
}

// number is the packet's number in the stream.
func (c *candidate) number() uint64 { return c.value>>qualityBits - 1 }

func (c *candidate) quality() uint64 { return c.value & (1<<qualityBits - 1) }

func (c *candidate) set(number, quality uint64) { c.value = (number+1)<<qualityBits | quality }

// candidates is a table of candidates by digest, in lines of 64 bytes. A full line drops the
// candidate whose packet is the oldest. If that is not settled, the table doubles before,
// as long as it may.
type candidates struct {
	lines [][candidateCells]candidate // a power of two
	touch uint64                      // keeps the compiler from leaving out reads
}

func newCandidates() candidates {
	return candidates{lines: make([][candidateCells]candidate, leastCandidateLines)}
}

func (t *candidates) line(tag uint64) *[candidateCells]candidate {
	return &t.lines[tag&uint64(len(t.lines)-1)]
}

// load reads the lines of the digests whose bits are set. The reads do not wait for each
// other, so the lines are in the cache when it is their turn.
func (t *candidates) load(digests []digest.Digest, set uint64) {
	read := uint64(0)
	for ; set != 0; set &= set - 1 {
		read |= t.line(digests[bits.TrailingZeros64(set)][1])[0].value
	}
	t.touch = read
}

// find returns the candidate with a tag, or nil. As in place, nothing branches on the cell.
func (t *candidates) find(tag uint64) *candidate {
	line := t.line(tag)
	cells := uint(0)
	for i := range line {
		differ := line[i].tag ^ tag
		cells |= uint((differ|-differ)>>63) << i
	}
	if cells == 1<<candidateCells-1 {
		return nil
	}
	c := &line[bits.TrailingZeros(^cells)%candidateCells]
	if c.value == 0 {
		return nil
	}
	return c
}

// forget removes the candidate with a tag.
func (t *candidates) forget(tag uint64) {
	if c := t.find(tag); c != nil {
		c.value = 0
	}
}

// enter adds a candidate, in the place of a candidate with the same tag. Packets before
// number settled are settled. It reports whether it had to drop a candidate that was not settled.
func (t *candidates) enter(tag, number, quality, settled uint64) (early bool) {
	c, known := t.place(tag)
	for !known && c.open(settled) && len(t.lines) < mostCandidateLines {
		t.double(settled)
		c, known = t.place(tag)
	}
	early = !known && c.open(settled)
	c.tag = tag
	c.set(number, quality)
	return early
}

// place returns the candidate with a tag, or else the cell that oldest returns. CPUs cannot predict
// which cell that is, so nothing branches on it.
//
//	differ = tag of the cell ^ tag       0 for the same tag
//	other  = (differ|-differ) >> 63      signed: all bits set unless differ is 0
//	value  = (value of the cell + 1) & other
//
// So the least value is 0 for the same tag, 1 for an empty cell, and grows with a packet's number.
func (t *candidates) place(tag uint64) (c *candidate, known bool) {
	line, least, at := t.line(tag), uint64(math.MaxUint64), uint64(0)
	for i := range line {
		differ := line[i].tag ^ tag
		other := uint64(int64(differ|-differ) >> 63)
		value := (line[i].value + 1) & other
		_, less := bits.Sub64(value, least, 0)
		least ^= (least ^ value) & -less
		at ^= (at ^ uint64(i)) & -less
	}
	return &line[at%candidateCells], least == 0
}

func (c *candidate) open(settled uint64) bool { return c.value != 0 && c.number() >= settled }

// oldest returns an empty cell of a tag's line, else the cell of the oldest packet.
func (t *candidates) oldest(tag uint64) *candidate {
	line := t.line(tag)
	c := &line[0]
	for i := range line {
		if line[i].value < c.value {
			c = &line[i]
		}
	}
	return c
}

// double doubles the table and drops settled packets.
func (t *candidates) double(settled uint64) {
	old := t.lines
	t.lines = make([][candidateCells]candidate, 2*len(old))
	for i := range old {
		for _, c := range old[i] {
			if c.open(settled) {
				*t.oldest(c.tag) = c
			}
		}
	}
}
