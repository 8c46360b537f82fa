//go:build amd64 && !purego

package asm

func permute(dst, src []uint32, b *Bijection) {
	switch groups := len(src) / 8; {
	case level == levelAVX512 && len(src) > 0:
		permuteAVX512(&dst[0], &src[0], len(src), b)
		return
	case level == levelAVX2 && groups > 0:
		permuteAVX2(&dst[0], &src[0], groups, b)
		dst, src = dst[8*groups:], src[8*groups:]
	}
	permuteGeneric(dst, src, b)
}

// permuteAVX2 takes groups of eight words.
//
//go:noescape
func permuteAVX2(dst, src *uint32, groups int, b *Bijection)

//go:noescape
func permuteAVX512(dst, src *uint32, n int, b *Bijection)
