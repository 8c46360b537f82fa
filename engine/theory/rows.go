package theory

import (
	"fmt"
	"math"
)

// Row is a table of rows of fingerprints. An element's hash chooses its row. A
// fingerprint has 2^FingerprintBits - 1 values, since 0 is an empty cell, and no value
// occurs twice in a row. Rows with random eviction are quotient hash tables without
// copies (GLN19, section 3.1).
type Row struct {
	Rows            int // at least 1
	Cells           int // of a row, at least 1
	FingerprintBits int // from 1 to 64; there are at least as many values as Cells
}

func (r Row) validate() error {
	if err := requireAtLeast("rows", r.Rows, 1); err != nil {
		return err
	}
	return requireCells(r.Cells, r.FingerprintBits)
}

func requireCells(cells, fingerprintBits int) error {
	if err := requireAtLeast("cells", cells, 1); err != nil {
		return err
	}
	if fingerprintBits < 1 || fingerprintBits > 64 {
		return fmt.Errorf("theory: %d bits of a fingerprint, must be from 1 to 64: %w", fingerprintBits, ErrDomain)
	}
	if float64(cells) > fingerprints(fingerprintBits) {
		return fmt.Errorf("theory: %d cells, more than fingerprints of %d bits: %w", cells, fingerprintBits, ErrDomain)
	}
	return nil
}

// fingerprints is the number of values that width bits give.
func fingerprints(width int) float64 { return math.Exp2(float64(width)) - 1 }

// FPR returns the false positive rate of full rows: Cells / (2^FingerprintBits - 1)
// (GLN19, Theorem 4.1 in the limit).
func (r Row) FPR() (float64, error) {
	if err := r.validate(); err != nil {
		return 0, err
	}
	return float64(r.Cells) / fingerprints(r.FingerprintBits), nil
}

// LRUMiss returns the probability that an element is forgotten after gap other distinct
// elements, when rows evict the least recently seen: P(B >= Cells) for B binomial of gap
// trials with chance 1/Rows. With FIFO eviction it holds for gap insertions after the
// element's own. It ignores fingerprints that are equal by chance, and so is too high by
// a share in the order of the FPR. Domain: gap >= 0.
func (r Row) LRUMiss(gap int) (float64, error) {
	if err := r.requireGap(gap); err != nil {
		return 0, err
	}
	return binomialFrom(r.Cells, float64(gap), 1/float64(r.Rows)), nil
}

func (r Row) requireGap(gap int) error {
	if err := r.validate(); err != nil {
		return err
	}
	return requireAtLeast("gap", gap, 0)
}

// TimedRowMiss returns the probability that a row of the given cells has lost an element
// of a sliding window, when rows evict the oldest and hold lambda elements of the window
// on average: P(X >= cells) for X Poisson of mean lambda*age. The age is the share of the
// window's different elements that came since the element was last seen. Domain: cells >=
// 1, lambda from 0 to 1e6, 0 <= age <= 1.
func TimedRowMiss(cells int, lambda, age float64) (float64, error) {
	if err := requireAtLeast("cells", cells, 1); err != nil {
		return 0, err
	}
	if err := requireLoad("lambda", lambda); err != nil {
		return 0, err
	}
	if err := requireShare("age", age); err != nil {
		return 0, err
	}
	return PoissonTail(cells, lambda*age), nil
}

// TimedRowFPR returns the probability that a new element finds its fingerprint in a
// row that holds lambda elements on average, within the window or not yet expired:
// E[min(X, cells)] / (2^fingerprintBits - 1) for X Poisson of mean lambda. Domain:
// cells and fingerprintBits as in [Row], lambda from 0 to 1e6.
func TimedRowFPR(cells, fingerprintBits int, lambda float64) (float64, error) {
	if err := requireCells(cells, fingerprintBits); err != nil {
		return 0, err
	}
	if err := requireLoad("lambda", lambda); err != nil {
		return 0, err
	}
	occupied := 0.0 // E[min(X,cells)] is the sum over j <= cells of P(X >= j)
	for j := 1; j <= cells; j++ {
		p := PoissonTail(j, lambda)
		if p < occupied*1e-17 {
			break // the others are smaller still
		}
		occupied += p
	}
	return occupied / fingerprints(fingerprintBits), nil
}

// BlockedBloomFPR returns the false positive rate of a Bloom filter of lines whose bits
// are cut into k equal parts with one bit of an element in each: the mean over the
// Poisson number X of a line's elements, of mean load, of (1-(1-k/lineBits)^X)^k (Putze,
// Sanders, Singler, Cache-, Hash- and Space-Efficient Bloom Filters, JEA 2009, section 3,
// for lines in parts). It is exact in the limit of many lines, since parts are
// independent for a given X. Domain: k >= 1, lineBits >= k, load from 0 to 1e6.
func BlockedBloomFPR(lineBits, k int, load float64) (float64, error) {
	if err := requireAtLeast("k", k, 1); err != nil {
		return 0, err
	}
	if err := requireAtLeast("bits of a line", lineBits, k); err != nil {
		return 0, err
	}
	if err := requireLoad("load", load); err != nil {
		return 0, err
	}
	if load == 0 {
		return 0, nil
	}
	// Terms are summed from 16 deviations below the mean on. Those left out have less
	// than 1e-50 of the probability, and a lower rate than those that are there.
	spread := 16*math.Sqrt(load) + 200
	mean, chance := 0.0, float64(k)/float64(lineBits)
	for x := math.Floor(max(0, load-spread)); x <= load+spread; x++ {
		mean += math.Exp(logPoisson(x, load)) * math.Pow(powMinus(chance, x), float64(k))
	}
	return min(mean, 1), nil
}

func requireLoad(name string, load float64) error {
	if !(load >= 0 && load <= 1e6) {
		return fmt.Errorf("theory: %s is %g, must be from 0 to 1e6: %w", name, load, ErrDomain)
	}
	return nil
}

// logPoisson is the logarithm of P(X = x) for a Poisson variable of a mean above 0.
func logPoisson(x, mean float64) float64 {
	factorial, _ := math.Lgamma(x + 1)
	return x*math.Log(mean) - mean - factorial
}

// binomialFrom returns P(B >= count) for a binomial variable B with a chance above 0 and
// count >= 1. Small results keep all their digits. Its time grows with count.
func binomialFrom(count int, trials, chance float64) float64 {
	if float64(count) > trials {
		return 0
	}
	if chance == 1 {
		return 1
	}
	n, x, odds := trials, float64(count), chance/(1-chance)
	first := n * math.Log1p(-chance)
	for i := range count { // differences of Lgamma would lose the digits for large n
		first += math.Log((n - float64(i)) / float64(i+1) * odds)
	}
	return tail(x, trials*chance, first, func(x float64) float64 { return max(0, (n-x)/(x+1)*odds) })
}

// tail sums a distribution with a single peak from x on, given the logarithm of its first
// term and the ratios of successive terms. Below the mean it computes the complement of
// the terms before x.
func tail(x, mean, first float64, ratio func(x float64) float64) float64 {
	term, sum := math.Exp(first), 0.0
	if x > mean {
		for ; term > sum*1e-17; x++ {
			sum += term
			term *= ratio(x)
		}
		return min(sum, 1)
	}
	for x > 0 && term > sum*1e-17 {
		x--
		term /= ratio(x)
		sum += term
	}
	return max(0, 1-sum)
}
