// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

package permute

import "github.com/flowdedup/flowdedup/asm/internal/cpu"

// permuteVectors permutes as many of the first words as fit whole vectors, and returns
// how many.
func permuteVectors(dst, src []uint32, b *Bijection) (done int) {
	groups := len(src) / 8
	switch {
	case cpu.Best == cpu.AVX512 && len(src) > 0:
		permuteAVX512(&dst[0], &src[0], len(src), b)
		return len(src)
	case cpu.Best == cpu.AVX2 && groups > 0:
		permuteAVX2(&dst[0], &src[0], groups, b)
		return 8 * groups
	}
	return 0
}

// permuteAVX2 takes groups of eight words.
//
//go:noescape
func permuteAVX2(dst, src *uint32, groups int, b *Bijection)

//go:noescape
func permuteAVX512(dst, src *uint32, n int, b *Bijection)
