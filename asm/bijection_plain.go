//go:build (!amd64 && !arm64) || purego

package asm

func permute(dst, src []uint32, b *Bijection) { permuteGeneric(dst, src, b) }
