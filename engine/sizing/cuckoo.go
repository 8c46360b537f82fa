package sizing

import (
	"math"
	"math/bits"
)

// cuckoo is the cuckoo filter that forgets what it finds no place for: two rows for
// each element, and a fingerprint stored at each sighting.
func cuckoo(r *request, memory int) (design, error) {
	b := best{request: r}
	shapes(r, mostQuotientCells, cuckooFPR, func(k, width int) {
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
		b.add(cuckooRows(r, rows, k, width), nil)
	})
	return b.result()
}

func cuckooRows(r *request, rows, k, width int) design {
	fpr := cuckooFPR(k, width)
	return r.finish(design{
		parameters: []Parameter{{"rows", rows}, {"cells", k}, {"cell bits", width}},
		bits:       rows * k * width,
		fpr:        fpr,
		lines:      2 * linesOfRow(k*width),
	}, cuckooMisses(r.load, rows*k, fpr))
}

// cuckooFPR is the rate of a full filter whose cells hold fingerprints as often as
// elements have them: 0 stands for empty, so that elements have 1 twice as often as the
// others. Repeats make rows hold fewer different ones, so it is a bound.
func cuckooFPR(k, width int) float64 {
	held := func(p float64) float64 { return p * -math.Expm1(float64(2*k)*math.Log1p(-p)) }
	p := math.Ldexp(1, -width)
	return held(2*p) + (math.Ldexp(1, width)-2)*held(p)
}

// cuckooMisses is a bound: each sighting pushes one fingerprint of all out, after so many
// moves that it may be any, and only the latest sighting's is counted as still there.
func cuckooMisses(l *load, cells int, fpr float64) misses {
	m := make(misses, len(l.between))
	for i, t := range l.between {
		m[i] = -math.Expm1(-t/float64(cells)) * (1 - fpr)
	}
	return m
}
