//go:build !amd64 || purego

package asm

// fillVectors leaves all digests to its caller: a register has two of them, and
// there is no product of 64 bits, so vectors would gain nothing.
func (b *lineBlock) fillVectors([]Digest, int, uint64, uint64, []uint32, bool) (done int) { return 0 }
