//go:build !amd64 || purego

package asm

// fillExactVectors leaves all words to its caller: where there are vectors, a register
// has two of them. fillExact64Vectors does the same.
func (b *lineBlock) fillExactVectors([]uint32, uint, *rowGeometry) (done int) { return 0 }

func (b *lineBlock) fillExact64Vectors([]Digest, uint) (done int) { return 0 }
