//go:build (!amd64 && !arm64) || purego

package asm

const aesGeneric = 0

// aesLevels returns the implementations that the CPU can run, the fastest last.
func aesLevels() []int { return []int{aesGeneric} }

func (a *AES) sum16(dst []Digest, keys [][16]byte) { a.sum16Generic(dst, keys) }

func (a *AES) sum48(dst []Digest, keys [][48]byte) { a.sum48Generic(dst, keys) }

func (a *AES) sumMessages(dst []Digest, buf []byte, msgs []Message) {
	a.sumMessagesGeneric(dst, buf, msgs)
}
