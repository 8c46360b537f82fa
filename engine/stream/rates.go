package stream

import (
	"math"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// bound returns the false positive rate that the filter never exceeds by more than
// chance: for rows of c cells of w bits c / (2^w - 1), and for the others what a
// stream of new elements leads to in the limit.
func (p *parameters) bound() float64 {
	if p.family() == familyRows {
		return Shape{RowShape: p.shape}.FPR()
	}
	rate := p.stableRate
	if method := methodTable[p.method].bits; method != line.StableSBF {
		rate = func() float64 { return math.Pow(saturatedBits(method, p.k), float64(p.k)) }
	}
	return p.uneven(rate())
}

// rowRate returns the probability that a row finds an element that never came, where
// that share of its cells is occupied.
func rowRate(s layout.RowShape, fill float64) float64 {
	return fill * float64(s.Cells()) / (math.Exp2(float64(s.CellBits())) - 1)
}

// uneven returns the mean rate of lines where rate is that of a line with the mean
// share x of occupied cells: lines differ, and the K-th power of their shares is by
// K(K-1)/2 (1-x)/(xN) larger in the mean, with N cells in a line, if cells are
// independent of each other.
func (p *parameters) uneven(rate float64) float64 {
	if rate == 0 {
		return 0
	}
	k := float64(p.k)
	x := math.Pow(rate, 1/k)
	return min(1, rate*(1+k*(k-1)/2*(1-x)/(x*float64(p.lineCells()))))
}

// saturatedBits returns the share of set bits that a stream of new elements leads to,
// for the methods without a parameter for it. Where x of the bits are set, an element
// that is not seen sets k (1-x) / (1-x^k) new ones, given that not all are set, and
// clears
//
//	k x (bsbf), x (bsbfsd), k x x (rlbsbf)
//
// before. With rsbf all elements that come in set k (1-x) and clear k x. Single
// deletion has its balance at 1: all bits end up set.
func saturatedBits(method line.StableMethod, k int) float64 {
	clears := func(x float64) float64 { return x }
	switch method {
	case line.StableRSBF:
		return 0.5
	case line.StableBSBFSD:
		return 1
	case line.StableRLBSBF:
		clears = func(x float64) float64 { return x * x }
	}
	low, high := 0.0, 1.0
	for range 60 {
		x := (low + high) / 2
		sum := 0.0 // (1-x^k) / (1-x)
		for range k {
			sum = 1 + x*sum
		}
		if clears(x)*sum < 1 {
			low = x
		} else {
			high = x
		}
	}
	return high
}

// estimate returns the false positive rate of lines of which that share of the cells
// is occupied, as far as it tells. In rows it is exact in the mean over keys. In lines
// of bits or cells it is that of a blocked Bloom filter with as many set.
func (p *parameters) estimate(fill float64) float64 {
	if p.family() == familyRows {
		return min(1, rowRate(p.shape, fill))
	}
	return theory.LineFilter{Cells: p.lineCells(), K: p.k}.FPROfFill(fill)
}
