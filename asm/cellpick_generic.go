package asm

func (p *cellPick) blockGeneric(b *lineBlock, n int) {
	for i, low := range b.low[:n] {
		b.low[i] = p.of(low)
	}
}
