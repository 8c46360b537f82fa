// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

package permute

import "github.com/flowdedup/flowdedup/asm/internal/cpu"

// permuteVectors permutes as many of the first words as fit whole vectors, and returns
// how many.
func permuteVectors(dst, src []uint32, b *Bijection) (done int) {
	groups := len(src) / 8
	if cpu.Best == cpu.Generic || groups == 0 {
		return 0
	}
	permuteNEON(&dst[0], &src[0], groups, b)
	return 8 * groups
}

// permuteNEON takes groups of eight words.
//
//go:noescape
func permuteNEON(dst, src *uint32, groups int, b *Bijection)
