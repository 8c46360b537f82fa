// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/layout"
)

// HomeRule decides when the home of a conversation moves. The kernel in assembly knows
// where its fields are.
type HomeRule struct {
	// A row of misses moves the home that has lasted for Silence, or that has Misses and has
	// lasted for longer than Hold. Both are nanoseconds, not negative.
	Silence, Hold int64
	Misses        uint64 // 1 to layout.HomeMisses
}

// Sightings are at most 64 packets. Element i of each slice, and bit i of Copies, belong to
// packet i.
type Sightings struct {
	Conversation []uint64 // keyed hash, or 0 for none
	Fragment     []uint64 // not 0 if the packet decides about others
	Point        []uint64 // the lowest 32 bits count
	Times        []int64  // nanoseconds, or math.MinInt64 for none
	Copies       uint64   // packets that are no misses when they are not at home
}

// AtHome handles packets in their order, on lines of layout.HomeCells. It stops
// before a packet that it cannot handle: without a conversation or a time, or that decides
// about others, moves a home, or is of a conversation without a cell. It returns the number
// of packets it handled, and a bit for each packet at home. It panics if
// there are not a power of two lines, or if a slice is shorter than Conversation.
//
// A packet at home ends the row of misses, and sets the time of the cell. Any other
// packet that is no copy is a miss. The first miss of a row, and any miss from before it,
// sets the time of the cell.
func AtHome(lines []layout.Line, s *Sightings, r *HomeRule) (home uint64, done int) {
	n := len(s.Conversation)
	if n == 0 {
		return 0, 0
	}
	if len(lines) == 0 || len(lines)&(len(lines)-1) != 0 {
		panic("line: AtHome: not a power of two lines")
	}
	if n > 64 || len(s.Fragment) < n || len(s.Point) < n || len(s.Times) < n {
		panic("line: AtHome: more than 64 packets, or slices of unequal lengths")
	}
	return atHome(lines, s, r)
}

// atHomeGeneric does it without vectors. Which cell a conversation has, and whether a
// packet is at home, is hard to predict, so nothing branches on it.
func atHomeGeneric(lines []layout.Line, s *Sightings, r *HomeRule) (home uint64, done int) {
	n, mask, copies := len(s.Conversation), uint64(len(lines)-1), s.Copies
	fragments, points, times := s.Fragment[:n], s.Point[:n], s.Times[:n]
	for i, conversation := range s.Conversation {
		line, now := &lines[conversation&mask], times[i]
		cells := matchHome(line, conversation>>32)
		at := uint(bits.TrailingZeros64(cells))
		at = at&1 | at>>4&2
		state := &line[layout.HomeStates+at]
		if cells == 0 || int64(*state) >= 0 || fragments[i] != 0 || conversation == 0 || now == math.MinInt64 {
			return home, i
		}
		differ := uint64(uint32(line[layout.HomePoints+at&1]>>(at<<4&32)) ^ uint32(points[i]))
		atHome := (differ - 1) >> 63
		row, move := r.miss(*state, now)
		miss := -(^(copies | atHome) & 1)
		if move&miss != 0 {
			return home, i
		}
		home |= atHome << i
		*state ^= (*state^row)&miss ^ (*state^newHomeState(0, now))&-atHome
		copies >>= 1
	}
	return home, n
}

// matchHome returns bits for cells with the given tag: the first such cell is one of bits
// 30, 31, 62 and 63. The bits of other cells may be wrong. Two tags are compared at a
// time: a half of a word is 0 if subtracting 1 borrows, and the lower half may borrow
// from the upper half.
func matchHome(line *layout.Line, tag uint64) (cells uint64) {
	const ones, tops = 1<<32 | 1, 1<<63 | 1<<31
	tag *= ones
	even, odd := line[0]^tag, line[1]^tag
	return ((even-ones)&^even&tops)>>1 | (odd-ones)&^odd&tops
}

// miss returns the state of a cell after a miss, and bits if its home is to move instead.
func (r *HomeRule) miss(state uint64, now int64) (after, move uint64) {
	misses, since := state>>layout.HomeMissShift&layout.HomeMisses, int64(state<<layout.HomeTimeShift)
	if misses == 0 || now < since {
		misses, since = 0, now
	}
	misses = min(misses+1, r.Misses)
	least := uint64(r.Silence)
	if misses == r.Misses {
		least = min(least, uint64(r.Hold)+1)
	}
	if uint64(now-since) >= least { // also beyond 292 years
		move = math.MaxUint64
	}
	return newHomeState(misses, since), move
}

func newHomeState(misses uint64, time int64) uint64 {
	return layout.HomePresent | misses<<layout.HomeMissShift | uint64(time)>>layout.HomeTimeShift
}
