package layout

// ThinDigestRows takes those digests from lines from to to-1 of rows of digests
// (asm.TestAndSetExact64) that have one of the bits of out, and returns how many. The others
// keep their order. It panics unless 0 <= from <= to <= len(rows).
func ThinDigestRows(rows []Line, from, to int, out uint64) (removed int) {
	for i := range rows[from:to] {
		line := &rows[from+i]
		var kept Line
		n := 0
		for _, digest := range line {
			if digest == 0 {
				break
			}
			if digest&out != 0 {
				removed++
				continue
			}
			kept[n&7] = digest
			n++
		}
		*line = kept
	}
	return removed
}

// ThinExactRows takes those words from lines from to to-1 of exact rows that have one of the
// bits of out, and returns how many. The others keep their order. Bits of out must be
// ones that cells hold. It panics unless 0 <= from <= to <= len(rows).
func ThinExactRows(rows []Line, from, to int, out uint32) (removed int) {
	width := exactCellBits(len(rows))
	for i := range rows[from:to] {
		line := &rows[from+i]
		var kept Line
		fill := uint(0)
		for at := uint(0); at < 512; at += width {
			cell := exactCell(line, at, width)
			if cell == 0 {
				break
			}
			if (cell-1)&uint64(out) != 0 {
				removed++
				continue
			}
			kept[fill/64&7] |= cell << (fill % 64)
			fill += width
		}
		*line = kept
	}
	return removed
}
