// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math"
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// Repeats are noticed among the latest recentLines times recentCells packets of a side.
const (
	recentLines = 1 << 10
	recentCells = 8
)

// tick is the unit of their times, in bits of a nanosecond: about a millisecond.
const tick = 20

// recent has the latest packets of a side, in lines of packets of equal hash.
type recent struct {
	lines [recentLines]recentLine
	// cells are rings: 32 bits of each digest, and its time in ticks.
	cells [recentLines][recentCells]uint64
}

// recentLine says where the cells of a line are looked for: most packets equal none of them.
type recentLine struct {
	tags  uint64 // 8 bits of each digest, the latest packet's lowest
	front uint64 // the cell of the latest packet
}

// before returns bits of the packets that equal a packet that came on the same side lately, and remembers
// them all.
func (r *recent) before(digests []digest.Digest, places []int64, window time.Duration) (again uint64) {
	const each = math.MaxUint64 / 0xff // a bit of each byte
	for i, placed := range places {
		d := &digests[i]
		l, cells := &r.lines[d[0]%recentLines], &r.cells[d[0]%recentLines]
		now, tag := uint64(uint32(placed>>tick)), d[1]>>24&0xff
		next, differ := d[1]<<32|now, l.tags^each*tag
		if equal := (differ - each) &^ differ & (each << 7); equal != 0 {
			if was, ok := l.take(cells, equal, uint32(d[1])); ok {
				if uint32(now)-was <= uint32(window>>tick) {
					again |= 1 << i
				}
			}
		}
		l.front = (l.front - 1) % recentCells
		l.tags, cells[l.front] = l.tags<<8|tag, next
	}
	return again
}

// take takes the first cell with that mark off a line, of the cells whose tags are equal, and returns its time.
func (l *recentLine) take(cells *[recentCells]uint64, equal uint64, mark uint32) (ticks uint32, ok bool) {
	for ; equal != 0; equal &= equal - 1 {
		at := uint64(bits.TrailingZeros64(equal)) / 8
		cell := cells[(l.front+at)%recentCells]
		if uint32(cell>>32) != mark {
			continue
		}
		later := uint64(1)<<(8*at) - 1 // the tags that move
		l.tags = l.tags&^(later<<8|0xff)>>8 | l.tags&later
		for ; at > 0; at-- {
			cells[(l.front+at)%recentCells] = cells[(l.front+at-1)%recentCells]
		}
		l.front = (l.front + 1) % recentCells
		return uint32(cell), true
	}
	return 0, false
}
