// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

package digest

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// The kernels of AES at each level. AES has levels of its own (cpu.AESLevels), since a CPU may
// have AES instructions without those for lines.
//
//	for            Generic               AESNI               VAES256           VAES
//	keys           sum...Generic         ...AESNI            ...VAES256        ...VAES
//	AES messages   sumMessagesGeneric    sumMessagesAESNI    polyvalVAES256    sumMessagesVAES
//	with masks                         sumMaskedAESNI                          sumMaskedVAES
//
// Where no kernel has masks, messages with masks are copied (masks.go).
// The kernels of VAES256 take whole groups, and leave the rest of a batch to AESNI.

// wholeBlocks is the number of blocks or keys that the kernels of VAES256 encrypt side by
// side.
const wholeBlocks = 16

// encryptBlocks encrypts blocks, 1 or more.
func (a *AES) encryptBlocks(dst, src []Digest) {
	if a.level == cpu.VAES {
		encryptVAES(&dst[0], &src[0], len(src), a.schedule)
	} else {
		a.encryptPairs(dst, src, a.schedule)
	}
}

// encryptPairs is encryptBlocks without AVX-512.
func (a *AES) encryptPairs(dst, src []Digest, schedule *aesSchedule) {
	whole := 0
	if a.level == cpu.VAES256 && len(src) >= wholeBlocks {
		whole = len(src) &^ (wholeBlocks - 1)
		encryptVAES256(&dst[0], &src[0], whole, schedule)
	}
	if whole < len(src) {
		encryptAESNI(&dst[whole], &src[whole], len(src)-whole, schedule)
	}
}

// sum48Keys digests keys, 1 or more.
func (a *AES) sum48Keys(dst []Digest, keys [][48]byte) {
	if a.level == cpu.VAES {
		sum48VAES(&dst[0], &keys[0], len(keys), a.schedule)
		return
	}
	whole := 0
	if a.level == cpu.VAES256 && len(keys) >= wholeBlocks {
		whole = len(keys) &^ (wholeBlocks - 1)
		sum48VAES256(&dst[0], &keys[0], whole, a.schedule)
	}
	if whole < len(keys) {
		sum48AESNI(&dst[whole], &keys[whole], len(keys)-whole, a.schedule)
	}
}

// hashMessages digests messages, 1 or more. If a message reaches beyond buf, it returns less
// than their number. A single short message takes fewer instructions by AES-NI: 103 for
// 46 bytes, not 132.
func (a *AES) hashMessages(dst []Digest, buf []byte, msgs []Message) (done int) {
	start, n := unsafe.SliceData(buf), len(msgs)
	if a.level == cpu.VAES && (n > 1 || msgs[0].Len > 64) {
		return sumMessagesVAES(&dst[0], start, len(buf), &msgs[0], n, a.messages)
	}
	whole := 0
	if a.level == cpu.VAES256 && n > 1 && len(buf) >= 32 {
		whole = n &^ 1
		if done = polyvalVAES256(&dst[0], start, len(buf), &msgs[0], whole, a.messages); done < whole {
			return done
		}
		a.encryptPairs(dst[:whole], dst[:whole], &a.messages.schedule)
	}
	if whole < n {
		done += sumMessagesAESNI(&dst[whole], start, len(buf), &msgs[whole], n-whole, a.messages)
	}
	return done
}

// sumMasked digests messages, 1 or more, if there is a kernel for masks.
func (a *AES) sumMasked(dst []Digest, buf []byte, msgs []Message, which []uint8, masks *[256]Mask) (done int, ok bool) {
	start, n := unsafe.SliceData(buf), len(msgs)
	switch a.level {
	case cpu.Generic:
		return 0, false
	case cpu.VAES:
		return sumMaskedVAES(&dst[0], start, len(buf), &msgs[0], n, a.messages, &which[0], &masks[0]), true
	default:
		return sumMaskedAESNI(&dst[0], start, len(buf), &msgs[0], n, a.messages, &which[0], &masks[0]), true
	}
}

//go:noescape
func encryptVAES(dst, src *Digest, n int, schedule *aesSchedule)

//go:noescape
func sum48VAES(dst *Digest, keys *[48]byte, n int, schedule *aesSchedule)

//go:noescape
func sumMessagesVAES(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey) (done int)

// sumMaskedVAES does the same for messages with masks: which has n numbers of masks.
//
//go:noescape
func sumMaskedVAES(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey, which *uint8, masks *Mask) (done int)

// sumMessagesLanes does the work of sumMessagesVAES, but on CPUs that have only AVX-512
// and AES-NI. Only tests call it. They compare polyval_vaes_amd64.h, the text of both,
// with the twin.
//
//go:noescape
func sumMessagesLanes(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey) (done int)

// encryptVAES256 encrypts n blocks, a positive multiple of 16. dst may be src.
//
//go:noescape
func encryptVAES256(dst, src *Digest, n int, schedule *aesSchedule)

// sum48VAES256 digests n keys, a positive multiple of 16.
//
//go:noescape
func sum48VAES256(dst *Digest, keys *[48]byte, n int, schedule *aesSchedule)

// polyvalVAES256 writes the blocks to encrypt for n messages, a positive even number. If
// a message reaches beyond the size bytes of buf, 32 or more, it returns less than n.
//
//go:noescape
func polyvalVAES256(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey) (done int)

//go:noescape
func sumMessagesAESNI(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey) (done int)

// sumMaskedAESNI does the same for messages with masks: which has n numbers of masks.
//
//go:noescape
func sumMaskedAESNI(dst *Digest, buf *byte, size int, msgs *Message, n int, key *messageKey, which *uint8, masks *Mask) (done int)

//go:noescape
func encryptAESNI(dst, src *Digest, n int, schedule *aesSchedule)

//go:noescape
func sum48AESNI(dst *Digest, keys *[48]byte, n int, schedule *aesSchedule)
