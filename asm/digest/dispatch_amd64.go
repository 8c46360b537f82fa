//go:build amd64 && !purego

package digest

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// The kernels at each level. AES has levels of its own (cpu.AESLevels), since a CPU may
// have AES instructions without those for lines.
//
//	for            Generic               AESNI or AVX2       VAES or AVX512
//	keys           sum...Generic         ...AESNI            ...VAES
//	AES messages   sumMessagesGeneric    sumMessagesAESNI    sumMessagesVAES
//	Highway        sumMessagesGeneric    sumHighwayAVX2      sumHighwayAVX512

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

// hashMessages digests n messages, 1 or more. If one reaches beyond the size bytes of buf, it
// returns less than n. One short message alone is done with fewer instructions by AES-NI: 103
// of 46 bytes, not 132.
func (a *AES) hashMessages(dst *Digest, buf *byte, size int, msgs *Message, n int) (done int) {
	if a.level == cpu.VAES && (n > 1 || msgs.Len > 64) {
		return sumMessagesVAES(dst, buf, size, msgs, n, a.messages)
	}
	return sumMessagesAESNI(dst, buf, size, msgs, n, a.messages)
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

//go:noescape
func encryptVAES(dst, src *Digest, n int, schedule *aesSchedule)

//go:noescape
func sum48VAES(dst *Digest, keys *[48]byte, n int, schedule *aesSchedule)

//go:noescape
func sumMessagesVAES(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey) (done int)

// sumMessagesLanes does what sumMessagesVAES does, but on CPUs that have AVX-512 and AES-NI
// alone. Only tests call it. They hold polyval_vaes_amd64.h, the text of both, against the twin.
//
//go:noescape
func sumMessagesLanes(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey) (done int)

//go:noescape
func sumMessagesAESNI(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey) (done int)

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
