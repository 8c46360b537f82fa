package theory

import (
	"fmt"
	"math"
)

// BloomFPR returns the false positive rate of a Bloom filter of m bits shared by
// k hash functions after n distinct elements:
//
//	(1 - (1-1/m)^(k n))^k
//
// (DR06, section 2.3; KNPS, Eq. 1.) It assumes that the k probed bits are independent;
// the true rate is higher by a share in the order of k/m. Domain: m >= 1, k >= 1, n >= 0.
func BloomFPR(m, k, n int) (float64, error) {
	if err := requireBloom(m, k, n); err != nil {
		return 0, err
	}
	return math.Pow(powMinus(1/float64(m), float64(k)*float64(n)), float64(k)), nil
}

// BloomFPRApprox returns (1-e^(-k n/m))^k, the limit of [BloomFPR] for large m. It is
// never above that and within O(1/m) of it (KNPS, Eq. 2; MAE05, section 5.1). Domain: m
// >= 1, k >= 1, n >= 0.
func BloomFPRApprox(m, k, n int) (float64, error) {
	if err := requireBloom(m, k, n); err != nil {
		return 0, err
	}
	return bloomLimit(float64(k)*float64(n)/float64(m), k), nil
}

// bloomLimit is the false positive rate at a given number of settings per bit.
func bloomLimit(settings float64, k int) float64 {
	return math.Pow(-math.Expm1(-settings), float64(k))
}

func requireBloom(m, k, n int) error {
	if err := requireAtLeast("m", m, 1); err != nil {
		return err
	}
	if err := requireAtLeast("k", k, 1); err != nil {
		return err
	}
	return requireAtLeast("n", n, 0)
}

// BloomOptimalK returns the whole k for which [BloomFPRApprox] is smallest: one of the
// two neighbors of ln(2) m/n, at least 1 (DR06, section 2.3). Rounding to the nearest
// would sometimes give the worse neighbor. Domain: m >= 1, n >= 1.
func BloomOptimalK(m, n int) (int, error) {
	if err := requireAtLeast("m", m, 1); err != nil {
		return 0, err
	}
	if err := requireAtLeast("n", n, 1); err != nil {
		return 0, err
	}
	low := max(1, int(math.Ln2*float64(m)/float64(n)))
	load := float64(n) / float64(m)
	if logBloomLimit(load, low+1) < logBloomLimit(load, low) {
		return low + 1, nil
	}
	return low, nil
}

// logBloomLimit is the logarithm of the false positive rate. The rate itself underflows
// at some thousand bits for each element. load is n/m.
func logBloomLimit(load float64, k int) float64 {
	return float64(k) * math.Log(-math.Expm1(-float64(k)*load))
}

// BloomCapacity returns the number of distinct elements at which the false
// positive rate of m bits and k hash functions reaches fpr: -(m/k) ln(1-fpr^(1/k))
// (KNPS, section on dynamic size, Eq. 1 solved for n). Domain: m >= 1, k >= 1,
// 0 < fpr < 1.
func BloomCapacity(m, k int, fpr float64) (float64, error) {
	if err := requireBloom(m, k, 0); err != nil {
		return 0, err
	}
	if err := requireRate("fpr", fpr); err != nil {
		return 0, err
	}
	return -float64(m) / float64(k) * math.Log1p(-math.Pow(fpr, 1/float64(k))), nil
}

// LineFilter is a blocked Bloom filter (Putze, Sanders, Singler, JEA 2009): an element
// has all its K cells in one line, each in a part of its own, and is found if all are
// set. A load is the mean number of elements in a line; the numbers have a Poisson
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

// FPR returns the false positive rate at a load a: the probability that all K cells of a
// new element are set. A cell is empty after j elements with probability (1-K/Cells)^j,
// and cells of different parts are independent, so that it is
//
//	sum over i from 0 to K of (-1)^i C(K,i) exp(-a (1 - (1-K/Cells)^i))
//
// Crowded lines make this higher than the K-th power of the share of set cells: up to K!
// times when lines are nearly empty, and little when they are not. It takes O(K). Domain:
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

// FPROfFill returns the false positive rate of lines with that share of their cells set,
// or 1 if no load gives that share.
func (f LineFilter) FPROfFill(fill float64) float64 {
	load, err := f.Load(fill)
	if err != nil { // all cells are set
		return 1
	}
	fpr, err := f.FPR(load)
	if err != nil {
		return 1
	}
	return fpr
}

// share returns the share of a line's cells that an element sets.
func (f LineFilter) share() float64 { return float64(f.K) / float64(f.Cells) }

// fill returns the share of all cells that are set at a load.
func (f LineFilter) fill(load float64) float64 { return -math.Expm1(-load * f.share()) }
