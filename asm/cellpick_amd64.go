//go:build amd64 && !purego

package asm

// block replaces the low halves of a block by the cells of its elements, and leaves
// whatever is behind the last element.
func (p *cellPick) block(b *lineBlock, n int) {
	switch level {
	case levelGeneric:
		p.blockGeneric(b, n)
	case levelAVX512:
		pickBlockAVX512(b, p)
	default:
		pickBlockAVX2(b, p)
	}
}

//go:noescape
func pickBlockAVX512(b *lineBlock, p *cellPick)

//go:noescape
func pickBlockAVX2(b *lineBlock, p *cellPick)
