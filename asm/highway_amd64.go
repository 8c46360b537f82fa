//go:build amd64 && !purego

package asm

import "unsafe"

// highwayLanes returns how many messages the kernel of the level takes side by side,
// 0 where there is none.
func highwayLanes() int {
	switch level {
	case levelAVX512:
		return 4
	case levelAVX2:
		return 2
	default:
		return 0
	}
}

// sumGroups digests the messages that order lists, a multiple of lanes.
func (h *Highway) sumGroups(dst []Digest, buf []byte, msgs []Message, order []uint16, front *bufferFront) {
	if level == levelAVX512 {
		sumHighwayAVX512(&dst[0], unsafe.SliceData(buf), &msgs[0], &order[0], len(order)/4, front, &h.start, &restOrder)
	} else {
		sumHighwayAVX2(&dst[0], unsafe.SliceData(buf), &msgs[0], &order[0], len(order)/2, front, &h.start, &restOrder)
	}
}

// sumHighwayAVX512 digests groups of four messages, 1 or more. start is the state
// before the first packet, past the header in words 2 and 3.
//
//go:noescape
func sumHighwayAVX512(dst *Digest, buf *byte, msgs *Message, order *uint16, groups int, front *bufferFront, start *highwayState, rests *restTable)

// sumHighwayAVX2 does the same for groups of two messages.
//
//go:noescape
func sumHighwayAVX2(dst *Digest, buf *byte, msgs *Message, order *uint16, groups int, front *bufferFront, start *highwayState, rests *restTable)
