//go:build !amd64 || purego

package asm

// fillExactVectors leaves all words to its caller: where there are vectors, a register
// has two of them.
func (b *lineBlock) fillExactVectors([]uint32, uint, *rowGeometry) (done int) { return 0 }
