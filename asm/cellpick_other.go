//go:build !amd64 || purego

package asm

// block replaces the low halves of the first n elements of a block by their cells.
func (p *cellPick) block(b *lineBlock, n int) { p.blockGeneric(b, n) }
