// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

package digest

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// encryptBlocks encrypts blocks, 1 or more.
func (a *AES) encryptBlocks(dst, src []Digest) {
	encryptNEON(&dst[0], &src[0], len(src), a.schedule)
}

// sum48Keys digests keys, 1 or more.
func (a *AES) sum48Keys(dst []Digest, keys [][48]byte) {
	sum48NEON(&dst[0], &keys[0], len(keys), a.schedule)
}

// hashMessages digests messages, 1 or more. If one reaches beyond buf, it returns less than
// their number.
func (a *AES) hashMessages(dst []Digest, buf []byte, msgs []Message) (done int) {
	return sumMessagesNEON(&dst[0], unsafe.SliceData(buf), len(buf), &msgs[0], len(msgs), a.messages)
}

// sumMasked digests messages, 1 or more, if there is a kernel for masks.
func (a *AES) sumMasked(dst []Digest, buf []byte, msgs []Message, which []uint8, masks *[256]Mask) (done int, ok bool) {
	if a.level == cpu.Generic {
		return 0, false
	}
	return sumMaskedNEON(&dst[0], unsafe.SliceData(buf), len(buf), &msgs[0], len(msgs), a.messages, &which[0], &masks[0]), true
}

// highwayLanes returns how many messages the kernel digests side by side, or 0 if there
// is none.
func highwayLanes() int {
	if cpu.Best == cpu.NEON {
		return 2
	}
	return 0
}

// sumGroups digests the messages that order lists, a multiple of lanes.
func (h *Highway) sumGroups(dst []Digest, buf []byte, msgs []Message, order []uint16, front *bufferFront) {
	sumHighwayNEON(&dst[0], unsafe.SliceData(buf), &msgs[0], &order[0], len(order)/2, front, &h.start, &remainderOrder)
}

//go:noescape
func encryptNEON(dst, src *Digest, n int, schedule *aesSchedule)

//go:noescape
func sum48NEON(dst *Digest, keys *[48]byte, n int, schedule *aesSchedule)

//go:noescape
func sumMessagesNEON(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey) (done int)

// sumMaskedNEON does the same for messages with masks: which has n numbers of masks.
//
//go:noescape
func sumMaskedNEON(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey, which *uint8, masks *Mask) (done int)

// sumHighwayNEON digests groups of two messages, 1 or more. start is the state
// before the first packet, past the header in words 2 and 3.
//
//go:noescape
func sumHighwayNEON(dst *Digest, buf *byte, msgs *Message, order *uint16, groups int, front *bufferFront, start *highwayState, remainders *remainderTable)
