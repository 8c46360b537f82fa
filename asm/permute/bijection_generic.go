// SPDX-License-Identifier: Apache-2.0

package permute

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
