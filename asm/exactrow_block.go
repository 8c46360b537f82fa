package asm

import "math/bits"

// testAndSetExact looks words up with the kernels of fingerprint rows: the remainder is the
// fingerprint, and no cell of a full row is a victim.
func testAndSetExact(lines [][8]uint64, seen []uint64, permuted, spill []uint32, shape RowShape) (spilled int) {
	if len(permuted) == 0 {
		return 0
	}
	g, shift := newRowGeometry(shape), exactShift(len(lines))
	var blocks [2]lineBlock
	blocks[0].fillExact(permuted[:min(64, len(permuted))], shift, &g)
	touchBlock(lines, blocks[0].offset[:32])
	for base := 0; base < len(permuted); base += 64 {
		block, ahead := &blocks[base/64&1], &blocks[base/64&1]
		n := min(64, len(permuted)-base)
		if rest := permuted[base+n:]; len(rest) > 0 {
			ahead = &blocks[base/64&1^1]
			ahead.fillExact(rest[:min(64, len(rest))], shift, &g)
		}
		missed, filled := testAndSetBlock(lines, block, ahead, n, &g, RowParams{shape, EvictRandom})
		seen[base/64] = ^bits.Reverse64(missed) >> (64 - n)
		for full := bits.Reverse64(missed^filled) >> (64 - n); full != 0; full &= full - 1 {
			spill[spilled] = uint32(base + bits.TrailingZeros64(full))
			spilled++
		}
	}
	return spilled
}

// fillExact makes the block of 1 to 64 words, with their remainders in the place of the
// low halves of digests.
func (b *lineBlock) fillExact(words []uint32, shift uint, g *rowGeometry) {
	for i := b.fillExactVectors(words, shift, g); i < len(words); i++ {
		y := uint64(words[i])
		b.offset[i&63] = y >> shift * 64
		b.low[i&63] = (y&(1<<shift-1) + 1) * g.ones
	}
	b.repeatFirst(len(words))
}
