//go:build arm64 && !purego

package asm

import "unsafe"

// highwayLanes returns how many messages the kernel of the level takes side by side,
// 0 where there is none.
func highwayLanes() int {
	if level == levelNEON {
		return 2
	}
	return 0
}

// sumGroups digests the messages that order lists, a multiple of lanes.
func (h *Highway) sumGroups(dst []Digest, buf []byte, msgs []Message, order []uint16, front *bufferFront) {
	sumHighwayNEON(&dst[0], unsafe.SliceData(buf), &msgs[0], &order[0], len(order)/2, front, &h.start, &restOrder)
}

// sumHighwayNEON digests groups of two messages, 1 or more. start is the state
// before the first packet, past the header in words 2 and 3.
//
//go:noescape
func sumHighwayNEON(dst *Digest, buf *byte, msgs *Message, order *uint16, groups int, front *bufferFront, start *highwayState, rests *restTable)
