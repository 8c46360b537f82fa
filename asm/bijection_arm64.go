//go:build arm64 && !purego

package asm

func permute(dst, src []uint32, b *Bijection) {
	if groups := len(src) / 8; level == levelNEON && groups > 0 {
		permuteNEON(&dst[0], &src[0], groups, b)
		dst, src = dst[8*groups:], src[8*groups:]
	}
	permuteGeneric(dst, src, b)
}

// permuteNEON takes groups of eight words.
//
//go:noescape
func permuteNEON(dst, src *uint32, groups int, b *Bijection)
