// SPDX-License-Identifier: Apache-2.0

package line

import (
	"encoding/binary"
	"math/bits"
)

// testAndSetCellBatchGeneric looks up the n elements of current. It returns those that
// are found, shifted in from below, so that the last one is bit 0, and the change of the
// number of cells that are not zero, modulo 2^64.
func testAndSetCellBatchGeneric(lines [][8]uint64, current, ahead *batch, n int, r *CellRule) (found, filled uint64) {
	touchLines(lines, ahead.offset[:])
	for i := range n {
		line, first := &lines[current.offset[i]/64], current.random[i]>>(r.firstShift&63)
		var seen, more uint64
		if r.bits == 2 {
			seen, more = r.testAndSet2(line, current.low[i], first&255)
		} else {
			seen, more = r.testAndSet4(line, current.low[i], first&127)
		}
		found = found<<1 | seen
		filled += more
	}
	return found, filled
}

// testAndSet2 takes an element of a line of two planes; seen is 1 or 0.
func (r *CellRule) testAndSet2(line *[8]uint64, pick, first uint64) (seen, filled uint64) {
	var own, before [4]uint64
	var lack uint64
	for w := range own {
		own[w] = 1<<(pick&0xff) | 1<<(pick>>8&0xff)<<32
		before[w] = line[w] | line[w+4]
		lack |= own[w] &^ before[w]
		pick >>= 16
	}
	seen = isZero(lack)
	run := r.run[seen&1][first:][:32]
	for w, mine := range own {
		lose := before[w] & binary.LittleEndian.Uint64(run[8*w:])
		a := line[w] ^ lose
		b := line[w+4] ^ lose&a
		filled += uint64(bits.OnesCount64(a|b|mine)) - uint64(bits.OnesCount64(before[w]))
		line[w] = a&^mine | r.max[0]&mine
		line[w+4] = b&^mine | r.max[1]&mine
	}
	return seen, filled
}

// testAndSet4 takes an element of a line of four planes.
func (r *CellRule) testAndSet4(line *[8]uint64, pick, first uint64) (seen, filled uint64) {
	var own, before [2]uint64
	var lack uint64
	for w := range own {
		own[w] = 1<<(pick&0xff) | 1<<(pick>>8&0xff)<<16 | 1<<(pick>>16&0xff)<<32 | 1<<(pick>>24&0xff)<<48
		before[w] = line[w] | line[w+2] | line[w+4] | line[w+6]
		lack |= own[w] &^ before[w]
		pick >>= 32
	}
	seen = isZero(lack)
	run := r.run[seen&1][first:][:16]
	for w, mine := range own {
		lose := before[w] & binary.LittleEndian.Uint64(run[8*w:])
		after := mine
		for plane := range r.max {
			word := &line[w+2*plane]
			bit := *word ^ lose
			lose &= bit
			after |= bit
			*word = bit&^mine | r.max[plane]&mine
		}
		filled += uint64(bits.OnesCount64(after)) - uint64(bits.OnesCount64(before[w]))
	}
	return seen, filled
}
