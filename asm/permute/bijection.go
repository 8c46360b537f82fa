// SPDX-License-Identifier: Apache-2.0

// Package permute scatters IPv4 addresses with a keyed permutation of the 32-bit words.
//
// It chooses no lines (asm/line does) and hides nothing from someone who sees its
// outputs.
//
//	question                function              contract       plain twin
//	where an address goes   Bijection.Permute     bijection.go   bijection.go
//	where it came from      Bijection.Invert      bijection.go   bijection.go
package permute

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/layout"
)

// bijectionRounds is how many rounds it takes until every input bit reaches every output
// bit, for all multipliers, and one more. The first round leaves a difference in bit 31
// where it is, the second spreads it over the high half, the third and fourth over the
// word.
const bijectionRounds = 4

// Bijection is a keyed permutation of the 32-bit words. Each key chooses another permutation,
// and each can be inverted. It scatters IPv4 addresses over lines and keeps them distinct, so
// that the stored part of an address is exact.
//
// Each of its four rounds is x = (x ^ key) * multiplier, then x ^= x >> 16, with a secret
// key word and a secret odd multiplier for each round. These are the operations of
// MurmurHash3's finalizer. Each is invertible and runs on vectors of 32-bit lanes. With
// fixed multipliers anyone could search offline for differences that survive; secret
// multipliers prevent that.
//
// It is no cipher. Without the key nobody can choose addresses that share a line much
// better than by chance, which is all that filters need. It does not hide addresses from
// someone who sees outputs. A four-round Feistel network of 16-bit halves has no better
// proof (its bound ends at 2^8 known pairs), and each of its multiplications mixes only
// half of the word.
//
// A Bijection is immutable, so any number of goroutines may use it at once.
type Bijection struct {
	xor, mul, inverse [bijectionRounds]uint32
}

// NewBijection derives the permutation from a secret key. The four key words are the
// 32-bit words of the key, little-endian. The multipliers are the low and high halves of
// two outputs of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), made odd. Its state begins
// with the XOR of the 64-bit halves of the key.
func NewBijection(key [16]byte) *Bijection {
	b := new(Bijection)
	state := binary.LittleEndian.Uint64(key[:8]) ^ binary.LittleEndian.Uint64(key[8:])
	var random uint64
	for i := range bijectionRounds {
		if i%2 == 0 {
			random = layout.SplitMix(&state)
		}
		b.xor[i] = binary.LittleEndian.Uint32(key[4*i:])
		b.mul[i] = uint32(random) | 1
		b.inverse[i] = inverse32(b.mul[i])
		random >>= 32
	}
	return b
}

// Permute writes the images of src to dst, which may be src. It panics if dst is shorter
// than src. It takes constant time for each word and does not allocate.
func (b *Bijection) Permute(dst, src []uint32) {
	dst = dst[:len(src)]
	done := permuteVectors(dst, src, b)
	permuteGeneric(dst[done:], src[done:], b)
}

// Invert undoes Permute: it writes the words whose images are src to dst, which may be
// src. It panics if dst is shorter than src.
func (b *Bijection) Invert(dst, src []uint32) {
	invertGeneric(dst[:len(src)], src, b)
}

// inverse32 returns the inverse of an odd number modulo 2^32 by Newton's iteration. m*m =
// 1 modulo 8 gives three bits, and each step doubles them.
func inverse32(m uint32) uint32 {
	x := m
	for range 4 {
		x *= 2 - m*x
	}
	return x
}

// permuteGeneric expects len(dst) == len(src).
func permuteGeneric(dst, src []uint32, b *Bijection) {
	k, m := b.xor, b.mul
	dst = dst[:len(src)]
	for i, x := range src {
		x = (x ^ k[0]) * m[0]
		x ^= x >> 16
		x = (x ^ k[1]) * m[1]
		x ^= x >> 16
		x = (x ^ k[2]) * m[2]
		x ^= x >> 16
		x = (x ^ k[3]) * m[3]
		dst[i] = x ^ x>>16
	}
}

// invertGeneric expects len(dst) == len(src). The XOR with a shift by half the word is
// its own inverse.
func invertGeneric(dst, src []uint32, b *Bijection) {
	dst = dst[:len(src)]
	for i, x := range src {
		for r := bijectionRounds - 1; r >= 0; r-- {
			x ^= x >> 16
			x = x*b.inverse[r] ^ b.xor[r]
		}
		dst[i] = x
	}
}
