// SPDX-License-Identifier: Apache-2.0

//go:build (!amd64 && !arm64) || purego

package digest

// Without kernels in assembly, the plain twins do everything.

func (a *AES) sum16(dst []Digest, keys [][16]byte) { a.sum16Generic(dst, keys) }

func (a *AES) sum48(dst []Digest, keys [][48]byte) { a.sum48Generic(dst, keys) }

func (a *AES) sumMessages(dst []Digest, buf []byte, msgs []Message) (done int) {
	return a.sumMessagesGeneric(dst, buf, msgs)
}

// sumMasked has no kernel.
func (a *AES) sumMasked([]Digest, []byte, []Message, []uint8, *[256]Mask) (done int, ok bool) {
	return 0, false
}
