//go:build amd64 && !purego

package asm

func permute(dst, src []uint32, b *Bijection) {
	if level < levelAVX512 || len(src) == 0 {
		permuteGeneric(dst, src, b)
		return
	}
	permuteAVX512(&dst[0], &src[0], len(src), b)
}

//go:noescape
func permuteAVX512(dst, src *uint32, n int, b *Bijection)
