//go:build amd64 && !purego

package asm

import "github.com/klauspost/cpuid/v2"

// The implementations of AES on this architecture, from the plainest to the
// fastest.
const (
	aesGeneric = iota
	aesNI
	aesVector
)

// aesLevels returns the implementations that the CPU can run, the fastest last.
func aesLevels() []int {
	levels := []int{aesGeneric}
	if cpuid.CPU.Supports(cpuid.AESNI, cpuid.AVX) {
		levels = append(levels, aesNI)
	}
	if cpuid.CPU.Supports(cpuid.VAES, cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.BMI2) {
		levels = append(levels, aesVector)
	}
	return levels
}

// encryptBlocks encrypts n blocks, 1 or more.
func (a *AES) encryptBlocks(dst, src *Digest, n int) {
	if a.level == aesVector {
		encryptVAES(dst, src, n, a.schedule)
	} else {
		encryptAESNI(dst, src, n, a.schedule)
	}
}

// sum48Keys digests n keys, 1 or more.
func (a *AES) sum48Keys(dst *Digest, keys *[48]byte, n int) {
	if a.level == aesVector {
		sum48VAES(dst, keys, n, a.schedule)
	} else {
		sum48AESNI(dst, keys, n, a.schedule)
	}
}

// sumEqual digests as many as it can of the messages that order lists, sorted, in
// groups of one length in blocks, and returns the others, in order. If same is set, all
// have that length.
func (a *AES) sumEqual(dst []Digest, buf []byte, msgs []Message, order []uint16, same bool) (rest []uint16) {
	if a.level != aesVector {
		return order
	}
	kept := 0
	for begin := 0; begin < len(order); {
		length := blocks(msgs[order[begin]].Len)
		end := begin + 1
		if same {
			end = len(order)
		}
		for end < len(order) && blocks(msgs[order[end]].Len) == length {
			end++
		}
		if groups := (end - begin) / aesLanes; groups > 0 && length > 0 {
			sumEqualVAES(&dst[0], &buf[0], &msgs[0], &order[begin], groups, int(length), a.schedule)
			begin += groups * aesLanes
		}
		kept += copy(order[kept:], order[begin:end])
		begin = end
	}
	return order[:kept]
}

// advance adds the next steps blocks of all lanes, 1 or more.
func (a *AES) advance(l *lanes, buf []byte, steps uint64) {
	if a.level == aesVector {
		advanceVAES(l, &buf[0], steps, a.schedule)
	} else {
		advanceAESNI(l, &buf[0], steps, a.schedule)
	}
}

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

//go:noescape
func encryptAESNI(dst, src *Digest, n int, schedule *aesSchedule)

//go:noescape
func sum48AESNI(dst *Digest, keys *[48]byte, n int, schedule *aesSchedule)

//go:noescape
func advanceAESNI(l *lanes, buf *byte, steps uint64, schedule *aesSchedule)
