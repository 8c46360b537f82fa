// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// Repeats are noticed among the latest recentLines times recentCells packets of a side.
const (
	recentLines = 1 << 10
	recentCells = 8
)

// recentLine is a cache line of packets of equal hash, the latest first: 32 bits of the
// digest, and its time in ticks.
type recentLine [recentCells]uint64

// warm touches the memory that seenBefore will touch, as matcher.warm does.
func (s *side) warm(digests []digest.Digest) {
	touched := uint64(0)
	for i := range digests {
		touched |= s.recent[digests[i][0]%recentLines][0]
	}
	s.touched |= touched
}

// seenBefore returns 1 if an equal packet came on the same side lately, else 0, and remembers the
// packet.
func (s *side) seenBefore(d *digest.Digest, placed int64, window time.Duration) uint64 {
	const tick = 20 // about a millisecond
	line, now := &s.recent[d[0]%recentLines], uint32(placed>>tick)
	next := d[1]<<32 | uint64(now)
	cell := line.find(uint32(d[1]))
	if cell == recentCells {
		line.shift(next)
		return 0
	}
	before := uint32(line[cell])
	copy(line[1:cell+1], line[:cell])
	line[0] = next
	if now-before <= uint32(window>>tick) {
		return 1
	}
	return 0
}

// shift puts a cell in front, and drops the last cell. It goes word by word, as a processor does not
// forward words that were just written to a load of several.
func (l *recentLine) shift(first uint64) {
	l[7], l[6], l[5] = l[6], l[5], l[4]
	l[4], l[3], l[2] = l[3], l[2], l[1]
	l[1], l[0] = l[0], first
}

// find returns the first cell with these 32 bits of a digest, or recentCells. It has no
// branches: see talkSet.way.
func (l *recentLine) find(mark uint32) int {
	at := equal32(uint32(l[7]>>32), mark)
	at = at<<1 | equal32(uint32(l[6]>>32), mark)
	at = at<<1 | equal32(uint32(l[5]>>32), mark)
	at = at<<1 | equal32(uint32(l[4]>>32), mark)
	at = at<<1 | equal32(uint32(l[3]>>32), mark)
	at = at<<1 | equal32(uint32(l[2]>>32), mark)
	at = at<<1 | equal32(uint32(l[1]>>32), mark)
	at = at<<1 | equal32(uint32(l[0]>>32), mark)
	return bits.TrailingZeros64(at | 1<<recentCells)
}
