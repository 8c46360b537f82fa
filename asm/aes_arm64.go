//go:build arm64 && !purego

package asm

import "github.com/klauspost/cpuid/v2"

// The implementations of AES on this architecture.
const (
	aesGeneric = iota
	aesNEON
)

// aesLevels returns the implementations that the CPU can run, the fastest last.
func aesLevels() []int {
	if cpuid.CPU.Supports(cpuid.AESARM, cpuid.ASIMD) {
		return []int{aesGeneric, aesNEON}
	}
	return []int{aesGeneric}
}

// encrypt sets dst[i] to the encryption of src[i], which dst may be itself.
func (a *AES) encrypt(dst, src []Digest) {
	if len(src) > 0 {
		dst = dst[:len(src)]
		encryptNEON(&dst[0], &src[0], len(src), a.schedule)
	}
}

func (a *AES) sum16(dst []Digest, keys [][16]byte) {
	if a.level == aesGeneric {
		a.sum16Generic(dst, keys)
		return
	}
	a.encrypt(dst, keysAsDigests(keys))
}

func (a *AES) sum48(dst []Digest, keys [][48]byte) {
	switch {
	case len(keys) == 0:
	case a.level == aesNEON:
		sum48NEON(&dst[0], &keys[0], len(keys), a.schedule)
	default:
		a.sum48Generic(dst, keys)
	}
}

func (a *AES) sumMessages(dst []Digest, buf []byte, msgs []Message) {
	if a.level == aesGeneric {
		a.sumMessagesGeneric(dst, buf, msgs)
		return
	}
	a.sumMessagesLanes(dst, buf, msgs)
}

// sumEqual leaves all messages to the lanes.
func (a *AES) sumEqual(_ []Digest, _ []byte, _ []Message, order []uint16) (rest []uint16) {
	return order
}

// advance adds the next steps blocks of all lanes, 1 or more.
func (a *AES) advance(l *lanes, buf []byte, steps uint64) {
	advanceNEON(l, &buf[0], steps, a.schedule)
}

//go:noescape
func encryptNEON(dst, src *Digest, n int, schedule *aesSchedule)

//go:noescape
func sum48NEON(dst *Digest, keys *[48]byte, n int, schedule *aesSchedule)

//go:noescape
func advanceNEON(l *lanes, buf *byte, steps uint64, schedule *aesSchedule)
