//go:build arm64 && !purego

package digest

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// encryptBlocks encrypts n blocks, 1 or more.
func (a *AES) encryptBlocks(dst, src *Digest, n int) { encryptNEON(dst, src, n, a.schedule) }

// sum48Keys digests n keys, 1 or more.
func (a *AES) sum48Keys(dst *Digest, keys *[48]byte, n int) { sum48NEON(dst, keys, n, a.schedule) }

// sumSorted digests the messages that order lists, sorted.
func (a *AES) sumSorted(dst []Digest, buf []byte, msgs []Message, o *messageOrder, order []uint16, same bool) {
	a.sumLanes(dst, buf, msgs, o, order, same)
}

// equalGroup returns how many messages of the same number of blocks sumEqualGroups takes
// side by side, and how many blocks they must have.
func (a *AES) equalGroup() (messages int, least uint64) { return aesLanes / 2, 2 }

// sumEqualGroups digests groups of messages of length blocks each, which order lists.
func (a *AES) sumEqualGroups(dst []Digest, buf []byte, msgs []Message, order []uint16, groups, length int) {
	sumEqualNEON(&dst[0], &buf[0], &msgs[0], &order[0], groups, length, a.schedule)
}

// advance adds the next steps blocks of all lanes, 1 or more.
func (a *AES) advance(l *lanes, buf []byte, steps uint64) {
	advanceNEON(l, &buf[0], steps, a.schedule)
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

// sumEqualNEON digests groups of 8 messages of length blocks each, 2 or more.
//
//go:noescape
func sumEqualNEON(dst *Digest, buf *byte, msgs *Message, order *uint16, groups, length int, schedule *aesSchedule)

//go:noescape
func advanceNEON(l *lanes, buf *byte, steps uint64, schedule *aesSchedule)

// sumHighwayNEON digests groups of two messages, 1 or more. start is the state
// before the first packet, past the header in words 2 and 3.
//
//go:noescape
func sumHighwayNEON(dst *Digest, buf *byte, msgs *Message, order *uint16, groups int, front *bufferFront, start *highwayState, remainders *remainderTable)

// scanVectors scans no messages: plain Go does.
func scanVectors([]Message, uint64) (done int, outside, differ uint64) { return 0, 0, 0 }
