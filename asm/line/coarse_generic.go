// SPDX-License-Identifier: Apache-2.0

package line

import "github.com/flowdedup/flowdedup/layout"

// testAndSetCoarseBatchGeneric looks up the n elements of current.
func testAndSetCoarseBatchGeneric(lines []layout.Line, current *batch, log *coarseLog, n int, r *coarseRule) (hits, found uint64) {
	touchLines(lines, current.offset[:n])
	for i := range n {
		line, cell := &lines[current.offset[i&63]/64], current.low[i&63]
		log[i&63] = *line
		own := r.turn(line, uint32(current.random[i&63]))
		at, isFound := r.find(line, cell)
		youth := r.youth(line, at)
		hit := r.isHit(own, youth, isFound)
		hits, found = hits<<1|hit, found<<1|isFound
		if hit&isFound == 0 {
			r.put(line, at, cell, own)
		} else if r.refresh {
			r.put(line, at, cell, max(own, youth))
		}
	}
	return hits, found
}

// turn sets the clock of a line for an element, ages the cells accordingly, and returns
// the youth of the element.
func (r *coarseRule) turn(line *[8]uint64, tick uint32) (own uint64) {
	clock := uint32(line[7] >> 32)
	late := uint64(clock - tick)
	if late < r.tooLate {
		return r.old - late
	}
	if tick != clock {
		r.age(line, min(uint64(tick-clock), r.old))
	}
	line[7] = line[7]&(1<<32-1) | uint64(tick)<<32
	return r.old
}

// age subtracts passed from the youth of all cells.
func (r *coarseRule) age(line *[8]uint64, passed uint64) {
	if r.fine {
		line[6] = lessYouth(line[6], passed*0x0101010101010101, 0x3f3f3f3f3f3f3f3f)
		line[7] = lessYouth(line[7], passed*0x01010101, 0x3f3f3f3f)
		return
	}
	const fields = 0x000000ff000000ff
	passed *= 0x0000000100000001
	for j := range line {
		line[j] = line[j]&^fields | lessFields(line[j]&fields, passed)
	}
	// The clock has no youth. The caller sets it.
}

// lessYouth takes passed from the fields of a word that a mask marks, and stops at 0. The
// fields of odd bytes are done after the even fields, so that borrows have room.
func lessYouth(word, passed, fields uint64) uint64 {
	const even = 0x00ff00ff00ff00ff
	low := lessFields(word&fields&even, passed&even)
	high := lessFields(word&fields>>8&even, passed>>8&even)
	return word&^fields | (low|high<<8)&fields
}

// lessFields subtracts bytes in fields of 16 bits, and stops at 0.
func lessFields(a, b uint64) uint64 {
	const above = 0x0100010001000100
	difference := (a | above) - b
	return difference & (difference >> 8 & (above >> 8) * 0xff)
}

// find returns the number of the first cell with the fingerprint of cell and 1, or the
// number of the last cell and 0.
func (r *coarseRule) find(line *[8]uint64, cell uint64) (at int, found uint64) {
	const ones = 0x0000000100000001
	pattern, ignored := cell&(1<<32-1)*ones, uint64(0)
	if !r.fine {
		ignored = 0xff * ones
	}
	for j := range (r.cells + 1) / 2 {
		differ := (line[j&7] ^ pattern) &^ ignored
		if differ&(1<<32-1) == 0 && r.sameByte(line, 2*j, cell) {
			return 2 * j, 1
		}
		if differ>>32 == 0 && 2*j+1 < r.cells && r.sameByte(line, 2*j+1, cell) {
			return 2*j + 1, 1
		}
	}
	return r.cells - 1, 0
}

// sameByte reports whether a fine cell has the upper bits of the fingerprint of cell.
func (r *coarseRule) sameByte(line *[8]uint64, at int, cell uint64) bool {
	return !r.fine || (fineByte(line, at)^cell>>32)&0xc0 == 0
}

// fineByte returns the byte of a fine cell.
func fineByte(line *[8]uint64, at int) uint64 {
	return line[(fineBytes+at)/8&7] >> (at % 8 * 8) & 0xff
}

// youth returns the youth of a cell.
func (r *coarseRule) youth(line *[8]uint64, at int) uint64 {
	if r.fine {
		return fineByte(line, at) & 0x3f
	}
	return line[at/2&7] >> (at % 2 * 32) & 0xff
}

// cell returns a cell with youth 0, as coarseCell does.
func (r *coarseRule) cell(line *[8]uint64, at int) uint64 {
	low := line[at/2&7] >> (at % 2 * 32) & (1<<32 - 1)
	if r.fine {
		return low | fineByte(line, at)&0xc0<<32
	}
	return low &^ 0xff
}

// isHit returns 1 if a cell with this youth is within the limit for an element.
func (r *coarseRule) isHit(own, youth, isFound uint64) (hit uint64) {
	which := 1 - isFound&1
	return above(r.limit[which], own-youth+r.bias[which])
}

// put puts a cell with a youth in front of a line. It replaces the cell with the given
// number.
func (r *coarseRule) put(line *[8]uint64, at int, cell, youth uint64) {
	if !r.fine {
		shiftIn(line[:], at, 32, cell|youth)
		return
	}
	shiftIn(line[:], at, 32, cell&(1<<32-1))
	shiftIn(line[fineBytes/8:], at, 8, cell>>32|youth)
}

// shiftIn moves the fields 0 to at-1 of words on by one, over field at, and sets field 0.
func shiftIn(words []uint64, at, width int, first uint64) {
	whole := (at + 1) * width / 64
	for j := range whole {
		words[j], first = words[j]<<width|first, words[j]>>(64-width)
	}
	if rest := (at + 1) * width % 64; rest > 0 {
		mask := uint64(1)<<rest - 1
		words[whole] = words[whole]&^mask | (words[whole]<<width|first)&mask
	}
}
