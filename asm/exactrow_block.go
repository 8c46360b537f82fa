package asm

import "math/bits"

// exactElements are what exact rows look up: words or digests.
type exactElements struct {
	words   []uint32
	digests []Digest
}

func (e *exactElements) count() int { return max(len(e.words), len(e.digests)) }

// fill makes the block of the elements from to to-1, 1 to 64.
func (e *exactElements) fill(b *lineBlock, from, to int, lines int, g *rowGeometry) {
	if e.digests != nil {
		b.fillExact64(e.digests[from:to], lines)
	} else {
		b.fillExact(e.words[from:to], exactShift(lines), g)
	}
}

// testAndSetExact looks elements up with the kernels of fingerprint rows: the remainder
// is the fingerprint, and no cell of a full row is a victim.
func testAndSetExact(lines [][8]uint64, seen []uint64, e exactElements, spill []uint32, shape RowShape) (spilled int) {
	count := e.count()
	if count == 0 {
		return 0
	}
	g := newRowGeometry(shape)
	var blocks [2]lineBlock
	e.fill(&blocks[0], 0, min(64, count), len(lines), &g)
	touchBlock(lines, blocks[0].offset[:32])
	for base := 0; base < count; base += 64 {
		block, ahead := &blocks[base/64&1], &blocks[base/64&1]
		n := min(64, count-base)
		if base+n < count {
			ahead = &blocks[base/64&1^1]
			e.fill(ahead, base+n, min(base+n+64, count), len(lines), &g)
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

// fillExact64 makes the block of 1 to 64 digests.
func (b *lineBlock) fillExact64(digests []Digest, lines int) {
	shift := uint(65 - bits.Len(uint(lines)))
	for i := b.fillExact64Vectors(digests, shift); i < len(digests); i++ {
		low := digests[i][0]
		b.offset[i&63] = low >> (shift & 63) * 64
		b.low[i&63] = max(low, 1)
	}
	b.repeatFirst(len(digests))
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
