package sizing

import (
	"math"
	"math/bits"
)

const (
	mostQuotientBits  = 16 // of a cell, in engine/paper
	mostQuotientCells = 16
)

// shapes tries rows of 1, 2, 4, ... cells, each with the narrowest cells whose
// saturated FPR keeps the bound, or the widest ones if none does.
func shapes(r *request, mostCells int, fpr func(cells, width int) float64, add func(cells, width int)) {
	rows := []int{r.Fixed.Cells}
	if r.Fixed.Cells == 0 {
		rows = rows[:0]
		for k := 1; k <= mostCells; k *= 2 {
			rows = append(rows, k)
		}
	}
	for _, k := range rows {
		width := r.Fixed.CellBits
		for w := 1; width == 0; w++ {
			if w == mostQuotientBits || k < 1<<w && fpr(k, w) <= r.FPR {
				width = w
			}
		}
		add(k, width)
	}
}

// fingerprintRows checks the shape of rows and returns how many fit.
func fingerprintRows(memory, cells, width int) (rows int, err error) {
	switch {
	case width > mostQuotientBits:
		return 0, impossible("cells of %d bits, must be from 1 to %d", width, mostQuotientBits)
	case cells > 1<<width-1:
		return 0, impossible("rows of %d different fingerprints need cells of at least %d bits, not %d; cells of %d bits allow rows of up to %d",
			cells, bits.Len(uint(cells)), width, width, 1<<width-1)
	case memory < cells*width:
		return 0, tooSmall(memory, cells*width, "a row of %d cells of %d bits", cells, width)
	}
	return memory / (cells * width), nil
}

// qht is the quotient hash table: random eviction, by elements reported distinct. The
// presence of a fingerprint in its row is a cell that elements with it set.
func qht(r *request, memory int) (design, error) {
	b := best{request: r}
	shapes(r, mostQuotientCells, quotientFPR, func(k, width int) {
		rows, err := fingerprintRows(memory, k, width)
		if err != nil {
			b.add(design{}, err)
			return
		}
		b.add(randomRows(r, rows, k, float64(int(1)<<width-1), k*width), nil)
	})
	return b.result()
}

func quotientFPR(k, width int) float64 { return float64(k) / float64(int(1)<<width-1) }

// randomRows is a table with so many rows of k cells and that many fingerprints, from
// which what is reported distinct evicts a random cell of its row.
func randomRows(r *request, rows, k int, fingerprints float64, rowBits int) design {
	return r.finish(design{
		parameters: []Parameter{{"rows", rows}, {"cells", k}, {"cell bits", rowBits / k}},
		bits:       rows * rowBits,
		fpr:        math.Min(1, float64(k)/fingerprints),
		lines:      linesOfRow(rowBits),
	}, randomMisses(r.load, float64(rows), k, fingerprints))
}

// randomMisses goes through rows of 1 to k cells. Given that an element is in its row, the
// others of the row have one cell less, and it is evicted at the rate at which they are
// reported distinct by such a row. In a row of one cell the next different element evicts
// it for certain.
func randomMisses(l *load, rows float64, k int, fingerprints float64) misses {
	m := make(misses, len(l.between))
	for cells := 1; cells <= k; cells++ {
		kept := math.Max(0, 1-float64(cells)/fingerprints)
		reports := l.fresh*math.Max(0, 1-float64(cells-1)/fingerprints) + (1-l.fresh)*l.fnr(m)
		for i, t := range l.between {
			evictions := reports * t / (rows * float64(cells))
			if cells == 1 {
				evictions = l.different[i] / rows
			}
			m[i] = -math.Expm1(-evictions) * kept
		}
	}
	return m
}

// linesOfRow is the expected number of cache lines that a row of so many bits, which
// lie without gaps, has a part in.
func linesOfRow(rowBits int) float64 {
	return 1 + float64(rowBits-1)/lineBits
}
