//go:build amd64 && !purego

package digest

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// The kernels at each level. AES has levels of its own (cpu.AESLevels), since a CPU may
// have AES instructions without those for lines.
//
//	for          Generic               AESNI or AVX2     VAES or AVX512
//	AES          sum...Generic         ...AESNI          ...VAES
//	Highway      sumMessagesGeneric    sumHighwayAVX2    sumHighwayAVX512

// encryptBlocks encrypts n blocks, 1 or more.
func (a *AES) encryptBlocks(dst, src *Digest, n int) {
	if a.level == cpu.VAES {
		encryptVAES(dst, src, n, a.schedule)
	} else {
		encryptAESNI(dst, src, n, a.schedule)
	}
}

// sum48Keys digests n keys, 1 or more.
func (a *AES) sum48Keys(dst *Digest, keys *[48]byte, n int) {
	if a.level == cpu.VAES {
		sum48VAES(dst, keys, n, a.schedule)
	} else {
		sum48AESNI(dst, keys, n, a.schedule)
	}
}

// equalGroup returns how many messages of the same number of blocks sumEqualGroups takes
// side by side, and how many blocks they must have.
func (a *AES) equalGroup() (messages int, least uint64) { return aesLanes, 1 }

// sumEqualGroups digests groups of messages of length blocks each, which order lists.
func (a *AES) sumEqualGroups(dst []Digest, buf []byte, msgs []Message, order []uint16, groups, length int) {
	sumEqualVAES(&dst[0], &buf[0], &msgs[0], &order[0], groups, length, a.schedule)
}

// advance adds the next steps blocks of all lanes, 1 or more.
func (a *AES) advance(l *lanes, buf []byte, steps uint64) {
	advanceVAES(l, &buf[0], steps, a.schedule)
}

// highwayLanes returns how many messages the kernel digests side by side, or 0 if there
// is none.
func highwayLanes() int {
	switch cpu.Best {
	case cpu.AVX512:
		return 4
	case cpu.AVX2:
		return 2
	default:
		return 0
	}
}

// sumGroups digests the messages that order lists, a multiple of lanes.
func (h *Highway) sumGroups(dst []Digest, buf []byte, msgs []Message, order []uint16, front *bufferFront) {
	if cpu.Best == cpu.AVX512 {
		sumHighwayAVX512(&dst[0], unsafe.SliceData(buf), &msgs[0], &order[0], len(order)/4, front, &h.start, &remainderOrder)
	} else {
		sumHighwayAVX2(&dst[0], unsafe.SliceData(buf), &msgs[0], &order[0], len(order)/2, front, &h.start, &remainderOrder)
	}
}

// scanVectors scans messages that fill whole vectors for scanMessages, and returns how many.
func scanVectors(msgs []Message, size uint64) (done int, outside, differ uint64) {
	groups := len(msgs) / 4
	if cpu.Best == cpu.Generic || groups == 0 {
		return 0, 0, 0
	}
	outside, differ = scanMessagesAVX2(&msgs[0], groups, size)
	return 4 * groups, outside, differ
}

// scanMessagesAVX2 scans groups of four messages, 1 or more.
//
//go:noescape
func scanMessagesAVX2(msgs *Message, groups int, size uint64) (outside, differ uint64)

//go:noescape
func encryptVAES(dst, src *Digest, n int, schedule *aesSchedule)

//go:noescape
func sum48VAES(dst *Digest, keys *[48]byte, n int, schedule *aesSchedule)

//go:noescape
func advanceVAES(l *lanes, buf *byte, steps uint64, schedule *aesSchedule)

// sumEqualVAES digests groups of 16 messages of length blocks each, 1 or more.
//
//go:noescape
func sumEqualVAES(dst *Digest, buf *byte, msgs *Message, order *uint16, groups, length int, schedule *aesSchedule)

// sumGroupsAESNI digests groups of aesGroup messages of any lengths, 1 or more. Each ends at byte
// 16 of buf or later.
//
//go:noescape
func sumGroupsAESNI(dst *Digest, buf *byte, msgs *Message, order *uint16, groups int, schedule *aesSchedule)

//go:noescape
func encryptAESNI(dst, src *Digest, n int, schedule *aesSchedule)

//go:noescape
func sum48AESNI(dst *Digest, keys *[48]byte, n int, schedule *aesSchedule)

// sumHighwayAVX512 digests groups of four messages, 1 or more. start is the state
// before the first packet, past the header in words 2 and 3.
//
//go:noescape
func sumHighwayAVX512(dst *Digest, buf *byte, msgs *Message, order *uint16, groups int, front *bufferFront, start *highwayState, remainders *remainderTable)

// sumHighwayAVX2 does the same for groups of two messages.
//
//go:noescape
func sumHighwayAVX2(dst *Digest, buf *byte, msgs *Message, order *uint16, groups int, front *bufferFront, start *highwayState, remainders *remainderTable)
