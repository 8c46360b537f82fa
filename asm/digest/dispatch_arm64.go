// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

package digest

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// The kernels of AES at each level:
//
//	for            Generic              NEON                         AESARM
//	keys           sum...Generic        encryptTables                encryptNEON, sum48NEON
//	messages       sumMessagesGeneric   polyvalARM64, encryptTables  sumMessagesNEON
//	with masks                                                       sumMaskedNEON
//
// Where no kernel has masks, messages with masks are copied (masks.go).

// encryptBlocks encrypts blocks, 1 or more.
func (a *AES) encryptBlocks(dst, src []Digest) { a.encrypt(dst, src, a.schedule) }

// encrypt is encryptBlocks by any schedule. encryptTables takes four blocks at a time.
func (a *AES) encrypt(dst, src []Digest, schedule *aesSchedule) {
	if a.level == cpu.AESARM {
		encryptNEON(&dst[0], &src[0], len(src), schedule)
		return
	}
	whole := len(src) &^ 3
	if whole > 0 {
		encryptTables(&dst[0], &src[0], whole, schedule)
	}
	if whole < len(src) {
		var last [4]Digest
		copy(last[:], src[whole:])
		encryptTables(&last[0], &last[0], 4, schedule)
		copy(dst[whole:len(src)], last[:])
	}
}

// sum48Keys digests keys, 1 or more.
func (a *AES) sum48Keys(dst []Digest, keys [][48]byte) {
	if a.level == cpu.AESARM {
		sum48NEON(&dst[0], &keys[0], len(keys), a.schedule)
		return
	}
	clear(dst)
	for block := 0; block < 48; block += 16 {
		for i := range keys {
			xorBlock(digestBytes(&dst[i]), (*[16]byte)(keys[i][block:]))
		}
		a.encrypt(dst, dst, a.schedule)
	}
}

// hashMessages digests messages, 1 or more. If a message reaches beyond buf, it returns less than
// their number.
func (a *AES) hashMessages(dst []Digest, buf []byte, msgs []Message) (done int) {
	if a.level == cpu.AESARM {
		return sumMessagesNEON(&dst[0], unsafe.SliceData(buf), len(buf), &msgs[0], len(msgs), a.messages)
	}
	done = polyvalARM64(&dst[0], unsafe.SliceData(buf), len(buf), &msgs[0], len(msgs), a.tables)
	if done == len(msgs) {
		a.encrypt(dst[:done], dst[:done], &a.messages.schedule)
	}
	return done
}

// sumMasked digests messages, 1 or more, if there is a kernel for masks.
func (a *AES) sumMasked(dst []Digest, buf []byte, msgs []Message, which []uint8, masks *[256]Mask) (done int, ok bool) {
	if a.level != cpu.AESARM {
		return 0, false
	}
	return sumMaskedNEON(&dst[0], unsafe.SliceData(buf), len(buf), &msgs[0], len(msgs), a.messages, &which[0], &masks[0]), true
}

// polyvalARM64 writes the blocks to encrypt for n messages, 1 or more. If a message reaches beyond
// buf, it returns less than n.
//
//go:noescape
func polyvalARM64(dst *Digest, buf *byte, size int, msgs *Message, n int, tables *polyvalTables) (done int)

// encryptTables encrypts n blocks, a positive multiple of 4. dst may be src.
//
//go:noescape
func encryptTables(dst, src *Digest, n int, schedule *aesSchedule)

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
