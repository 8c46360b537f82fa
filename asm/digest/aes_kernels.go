// SPDX-License-Identifier: Apache-2.0

//go:build (amd64 || arm64) && !purego

package digest

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

func (a *AES) sum16(dst []Digest, keys [][16]byte) {
	if a.level == cpu.Generic {
		a.sum16Generic(dst, keys)
		return
	}
	if len(keys) > 0 {
		a.encryptBlocks(dst, unsafe.Slice((*Digest)(unsafe.Pointer(&keys[0])), len(keys)))
	}
}

func (a *AES) sum48(dst []Digest, keys [][48]byte) {
	if a.level == cpu.Generic {
		a.sum48Generic(dst, keys)
		return
	}
	if len(keys) > 0 {
		a.sum48Keys(dst, keys)
	}
}

func (a *AES) sumMessages(dst []Digest, buf []byte, msgs []Message) (done int) {
	if a.level == cpu.Generic || len(msgs) == 0 {
		return a.sumMessagesGeneric(dst, buf, msgs)
	}
	return a.hashMessages(dst, buf, msgs)
}
