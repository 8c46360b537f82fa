package sizing

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// sqf is the streaming quotient filter: a power of two of rows, and fingerprints of
// r' remainder bits and the weight of all r.
func sqf(r *request, memory int) (design, error) {
	b := best{request: r}
	shapes(r, mostQuotientCells, func(k, width int) float64 {
		_, _, agree := sqfFingerprint(width)
		return float64(k) * agree
	}, func(k, width int) {
		remainder, reduced, agree := sqfFingerprint(width)
		if remainder == 0 {
			b.add(design{}, impossible("cells of %d bits, must be from 3 to %d", width, mostQuotientBits))
			return
		}
		codes, err := theory.SQFFingerprints(remainder, reduced)
		rows, err2 := fingerprintRows(memory, k, width)
		switch {
		case err != nil || k > codes:
			b.add(design{}, impossible("rows of %d different fingerprints, must be at most %d with cells of %d bits", k, codes, width))
		case err2 != nil:
			b.add(design{}, err2)
		default:
			rows = 1 << (bits.Len(uint(rows)) - 1)
			d := randomRows(r, rows, k, 1/agree, k*width)
			d.parameters = append(d.parameters, Parameter{"r", remainder}, Parameter{"r'", reduced})
			b.add(d, nil)
		}
	})
	return b.result()
}

// sqfFingerprint returns the r and r' of cells of the given width whose fingerprints
// agree with the least probability, and that probability: 2^-r' times that of two
// weights of r-r' bits, which is C(2n,n)/4^n with n = r-r'.
func sqfFingerprint(width int) (remainder, reduced int, agree float64) {
	agree = math.Inf(1)
	for r := 2; r <= mostQuotientBits; r++ {
		rPrime := width - bits.Len(uint(r))
		if rPrime < 1 || rPrime >= r {
			continue
		}
		p := math.Exp2(-float64(rPrime))
		for i := 1.0; i <= float64(r-rPrime); i++ {
			p *= (2*i - 1) / (2 * i)
		}
		if p < agree {
			remainder, reduced, agree = r, rPrime, p
		}
	}
	return remainder, reduced, agree
}
