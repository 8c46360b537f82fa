package sizing

import "math/bits"

// cuckoo is the cuckoo filter that forgets what it finds no place for: two rows for
// each element.
func cuckoo(r *request, memory int) (design, error) {
	b := best{request: r}
	shapes(r, mostQuotientCells, func(k, width int) float64 { return 2 * quotientFPR(k, width) }, func(k, width int) {
		if k == 1 && r.Fixed.Cells == 0 {
			return // with one cell in a row, what is forgotten is often what just came
		}
		if r.Fixed.CellBits == 0 {
			width = max(width, bits.Len(uint(2*k)))
		}
		rows, err := fingerprintRows(memory, k, width)
		switch {
		case err != nil:
		case 2*k > 1<<width-1:
			err = impossible("two rows of %d different fingerprints need cells of at least %d bits, not %d", k, bits.Len(uint(2*k)), width)
		case rows < 2:
			err = tooSmall(memory, 2*k*width, "two rows of %d cells of %d bits", k, width)
		}
		if err != nil {
			b.add(design{}, err)
			return
		}
		rows = 1 << (bits.Len(uint(rows)) - 1)
		fingerprints := float64(int(1)<<width-1) / 2 // an element has two rows
		d := randomRows(r, rows, k, fingerprints, k*width)
		d.lines *= 2
		b.add(d, nil)
	})
	return b.result()
}
