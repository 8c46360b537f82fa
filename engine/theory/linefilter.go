package theory

import (
	"fmt"
	"math"
)

// LineFilter is a blocked Bloom filter (Putze, Sanders, Singler, JEA 2009): an element
// has all its K cells in one line, each in a part of its own, and is found if all are
// set. Loads are mean numbers of elements in a line, whose numbers have Poisson's
// distribution.
type LineFilter struct {
	Cells int // of a line, at least 1
	K     int // from 1 to 64, at most Cells
}

func (f LineFilter) validate() error {
	if f.K < 1 || f.K > min(f.Cells, 64) {
		return fmt.Errorf("theory: K is %d with %d cells, must be from 1 to 64 and at most the cells: %w", f.K, f.Cells, ErrDomain)
	}
	return nil
}

// FPR returns the false positive rate at a load a: the probability that all K cells of
// an element are set that never came. A cell is empty after j elements with probability
// (1-K/Cells)^j, and cells of different parts are independent, so that it is
//
//	sum over i from 0 to K of (-1)^i C(K,i) exp(-a (1 - (1-K/Cells)^i))
//
// Crowded lines make this up to K! times the K-th power of the share of set cells while
// lines are nearly empty, and little more when they are not. It takes O(K). Domain:
// load >= 0.
func (f LineFilter) FPR(load float64) (float64, error) {
	if err := f.validate(); err != nil {
		return 0, err
	}
	if !(load >= 0) {
		return 0, fmt.Errorf("theory: load is %g, must be at least 0: %w", load, ErrDomain)
	}
	empty := math.Log1p(-f.share())
	sum, sign := 0.0, 1.0
	for i := range f.K + 1 {
		sum += sign * binomialCoefficient(f.K, i) * math.Exp(load*math.Expm1(float64(i)*empty))
		sign = -sign
	}
	// The sum has lost its digits where the rate is small.
	return min(1, max(sum, math.Pow(f.fill(load), float64(f.K)))), nil
}

// Load returns the load at which that share of all cells is set. Domain:
// 0 <= fill < 1.
func (f LineFilter) Load(fill float64) (float64, error) {
	if err := f.validate(); err != nil {
		return 0, err
	}
	if !(fill >= 0 && fill < 1) {
		return 0, fmt.Errorf("theory: share of set cells is %g, must be from 0 up to 1: %w", fill, ErrDomain)
	}
	return -math.Log1p(-fill) / f.share(), nil
}

// share returns the share of a line's cells that an element sets.
func (f LineFilter) share() float64 { return float64(f.K) / float64(f.Cells) }

// fill returns the share of all cells that are set at a load.
func (f LineFilter) fill(load float64) float64 { return -math.Expm1(-load * f.share()) }
