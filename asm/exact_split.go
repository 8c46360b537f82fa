package asm

// SplitExact distributes exact rows of 32-bit words (TestAndSetExact32) over twice as many
// lines: of the remainders in line i of src, those without bit rest go to line 2i of dst and
// those with it, which they lose, to line 2i+1, each side in the order that it had. Cells of
// src are of wide bits and those of dst of narrow bits, 32 or 16. Lines of dst must be
// empty. It panics unless dst has twice as many lines as src, wide is no less than narrow
// and a remainder below bit rest fits a cell of narrow bits beside the code for empty.
func SplitExact(dst, src [][8]uint64, wide, narrow, rest uint) {
	if len(dst) != 2*len(src) || wide != 16 && wide != 32 || narrow != 16 && narrow != wide || rest >= narrow {
		panic("asm: SplitExact: not twice as many lines, or cells of a wrong width")
	}
	if wide == narrow && splitExactVectors(dst, src, wide, rest) {
		return
	}
	for i := range src {
		var cells [2 * 32]uint32
		splitCells(&cells, &src[i], wide, rest)
		packCells(&dst[2*i], cells[:32], narrow)
		packCells(&dst[2*i+1], cells[32:], narrow)
	}
}

// splitCells takes the remainders in a line apart: those without bit rest become the first
// cells, the others those from 32 on. Which of these a remainder goes to is as good as
// random, so no branch depends on it.
func splitCells(cells *[2 * 32]uint32, line *[8]uint64, width, rest uint) {
	mask := uint32(1)<<(rest&31) - 1
	fill := uint64(32) << 32 // the next place for either
	for _, word := range line {
		for range 64 / width {
			cell := uint32(word & (1<<(width&63) - 1))
			if cell == 0 {
				return
			}
			half := (cell - 1) >> (rest & 31) & 1 * 32
			cells[fill>>(half&63)&63] = (cell-1)&mask + 1
			fill += 1 << (half & 63)
			word >>= width & 63
		}
	}
}

// packCells writes a line of cells of 16 or 32 bits.
func packCells(line *[8]uint64, cells []uint32, width uint) {
	cells = cells[:32]
	for w := range line {
		if width == 32 {
			line[w] = uint64(cells[2*w]) | uint64(cells[2*w+1])<<32
		} else {
			c := cells[4*w : 4*w+4 : 4*w+4]
			line[w] = uint64(c[0]) | uint64(c[1])<<16 | uint64(c[2])<<32 | uint64(c[3])<<48
		}
	}
}
