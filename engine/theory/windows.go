package theory

import (
	"fmt"
	"math"
)

// LandmarkRate returns the false positive rate over a whole landmark window in the
// limit of a long one: the mean over x in [0,1] of (1-e^(-d n x/m))^d (MAE05,
// section 5.2.2 over n). It is the rate of the full filter, [BloomFPRApprox],
// averaged while it fills. Domain: m >= 1, d >= 1, n >= 1.
func LandmarkRate(m, d, n int) (float64, error) {
	if err := requireBloom(m, d, n); err != nil {
		return 0, err
	}
	if err := requireAtLeast("n", n, 1); err != nil {
		return 0, err
	}
	return meanFilling(float64(d)*float64(n)/float64(m), d), nil
}

// meanFilling returns the integral over x in [0,1] of (1-e^(-load x))^d. By parts, the
// integral for d-1 minus that for d is q^d/(load d) with q = 1-e^-load. So it is 1 minus
// the first d terms of a series that adds up to 1, or the sum of the other terms, which
// keeps the digits of small results.
func meanFilling(load float64, d int) float64 {
	q := -math.Expm1(-load)
	if q > 0.99 {
		sum, power := 1.0, 1.0
		for j := 1; j <= d; j++ {
			power *= q
			sum -= power / (load * float64(j))
		}
		return max(0, sum)
	}
	sum, power := 0.0, math.Pow(q, float64(d))
	for j := d + 1; ; j++ {
		power *= q
		term := power / (load * float64(j))
		sum += term
		if term <= sum*1e-17 {
			return sum
		}
	}
}

// LandmarkBoundRatio returns how many times the bound 2^-d of MAE05, section 5.1, is
// above the error rate of a landmark window, when m/d = n/ln(2): 1.8 for d = 1, 4
// for d = 4, 8.2 for d = 10, 12.4 for d = 16. The paper's "4 to 8 times" (section
// 6.2) is right for d from 4 to 9 or 10. Domain: 1 <= d <= 1000.
func LandmarkBoundRatio(d int) (float64, error) {
	if err := requireAtLeast("d", d, 1); err != nil {
		return 0, err
	}
	if err := requireAtLeast("1000 - d", 1000-d, 0); err != nil {
		return 0, err
	}
	return math.Exp2(-float64(d)) / meanFilling(math.Ln2, d), nil
}

// Jumping is a jumping window (MAE05, sections 3.3 and 5.2.4): sub-windows of n elements.
// A query covers the latest, which is still being filled, and the SubWindows-1 before it.
// All elements are distinct. A cell is zero or not, so bits and counters give the same.
type Jumping struct {
	Cells      int // m, at least 1
	D          int // hash functions, from 1 to 1000
	SubWindows int // Q, at least 1
	SubWindow  int // n, at least 1
}

func (j Jumping) validate() error {
	if err := requireAtLeast("cells", j.Cells, 1); err != nil {
		return err
	}
	if err := requireFunctions(j.D); err != nil {
		return err
	}
	if err := requireAtLeast("sub-windows", j.SubWindows, 1); err != nil {
		return err
	}
	return requireAtLeast("sub-window", j.SubWindow, 1)
}

// requireFunctions reports an error unless 1 <= d <= 1000: rates are in the order of
// 2^-d, so more functions would come close to underflow.
func requireFunctions(d int) error {
	if d < 1 || d > 1000 {
		return fmt.Errorf("theory: d is %d, must be from 1 to 1000: %w", d, ErrDomain)
	}
	return nil
}

// load returns how often all Q n elements together set a cell.
func (j Jumping) load() float64 {
	return float64(j.D) * float64(j.SubWindows) * float64(j.SubWindow) / float64(j.Cells)
}

// SteadyRate returns the false positive rate after the first Q sub-windows, in the limit
// of long ones: the mean over x from (Q-1)/Q to 1 of (1-e^(-d Q n x/m))^d. The filter
// swings between these two loads, since a sub-window is subtracted before the next is
// filled.
func (j Jumping) SteadyRate() (float64, error) {
	if err := j.validate(); err != nil {
		return 0, err
	}
	return meanRefilling(j.load(), j.D, j.SubWindows), nil
}

// RateFromEmpty returns the false positive rate from an empty filter over the given
// number of overlapping windows, Q + windows - 1 sub-windows. The first Q fill the filter
// as a landmark window does; the others have [Jumping.SteadyRate]. Domain: windows >= 1.
func (j Jumping) RateFromEmpty(windows int) (float64, error) {
	if err := j.validate(); err != nil {
		return 0, err
	}
	if err := requireAtLeast("windows", windows, 1); err != nil {
		return 0, err
	}
	return meanFromEmpty(j.load(), j.D, j.SubWindows, windows), nil
}

// ApartRate returns what [Jumping.SteadyRate] would be if an element were a duplicate
// only when all its cells are set in the filter of the complete sub-windows, or all are
// in that of the latest: a + (1-a) b, where a is the rate of a filter of n
// elements, and b that of a landmark window of n. For large d it is well below
// SteadyRate, because different sub-windows no longer complete each other.
func (j Jumping) ApartRate() (float64, error) {
	if err := j.validate(); err != nil {
		return 0, err
	}
	latest := j.load() / float64(j.SubWindows)
	complete := bloomLimit(latest*float64(j.SubWindows-1), j.D)
	return complete + (1-complete)*meanFilling(latest, j.D), nil
}

// meanFromEmpty returns the mean of (1-e^(-load x))^d while x goes from 0 to 1 and
// then, windows-1 times, from (q-1)/q to 1.
func meanFromEmpty(load float64, d, q, windows int) float64 {
	filling := float64(q) / (float64(q) + float64(windows-1))
	return filling*meanFilling(load, d) + (1-filling)*meanRefilling(load, d, q)
}

// meanRefilling returns the mean over x from (q-1)/q to 1 of (1-e^(-load x))^d. It is
// clamped to the values at the ends: for a large q the difference of the two integrals
// has few digits left.
func meanRefilling(load float64, d, q int) float64 {
	before := 1 - 1/float64(q)
	mean := float64(q) * meanFilling(load, d)
	if before > 0 {
		mean -= float64(q-1) * meanFilling(load*before, d)
	}
	return min(max(mean, bloomLimit(load*before, d)), bloomLimit(load, d))
}
