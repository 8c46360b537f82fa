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

// encryptBlocks encrypts n blocks, 1 or more.
func (a *AES) encryptBlocks(dst, src *Digest, n int) { encryptNEON(dst, src, n, a.schedule) }

// sum48Keys digests n keys, 1 or more.
func (a *AES) sum48Keys(dst *Digest, keys *[48]byte, n int) { sum48NEON(dst, keys, n, a.schedule) }

// sumEqual leaves all messages to the lanes.
func (a *AES) sumEqual(_ []Digest, _ []byte, _ []Message, order []uint16, _ bool) (rest []uint16) {
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
