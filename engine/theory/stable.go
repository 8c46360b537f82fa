package theory

import (
	"fmt"
	"math"
)

// Stable is a stable Bloom filter (DR06, section 3): Cells cells with values up
// to Max; every element decrements P of them and sets its own K to Max.
type Stable struct {
	Cells int // m, more than K
	K     int // at least 1
	P     int // from 1 to Cells
	Max   int // 2^d - 1 for cells of d bits, at least 1
}

func (s Stable) validate() error {
	if err := requireStable(s.Cells, s.K, s.Max); err != nil {
		return err
	}
	if s.P < 1 || s.P > s.Cells {
		return fmt.Errorf("theory: P is %d, must be from 1 to %d: %w", s.P, s.Cells, ErrDomain)
	}
	return nil
}

func requireStable(cells, k, top int) error {
	if err := requireAtLeast("K", k, 1); err != nil {
		return err
	}
	if cells <= k {
		return fmt.Errorf("theory: %d cells, must be more than K, which is %d: %w", cells, k, ErrDomain)
	}
	return requireAtLeast("Max", top, 1)
}

// StableZeros returns the limit of the probability that a cell is zero when each
// element decrements it with probability p and then sets it to top with
// probability k:
//
//	(1 / (1 + 1/(p (1/k - 1))))^top
//
// (DR06, Theorem 2, Eq. 7.) Domain: 0 < p <= 1, 0 < k <= 1, top >= 1.
func StableZeros(p, k float64, top int) (float64, error) {
	if !(p > 0 && p <= 1) || !(k > 0 && k <= 1) {
		return 0, fmt.Errorf("theory: p is %g and k %g, must be above 0 and at most 1: %w", p, k, ErrDomain)
	}
	if err := requireAtLeast("Max", top, 1); err != nil {
		return 0, err
	}
	free := p * (1/k - 1)
	return math.Pow(free/(free+1), float64(top)), nil
}

// Zeros returns the stable point: the expected share of cells that are zero after
// many elements, exact for uniform streams and a lower bound for all others
// (DR06, Theorem 3).
func (s Stable) Zeros() (float64, error) {
	if err := s.validate(); err != nil {
		return 0, err
	}
	free := float64(s.P) * (1/float64(s.K) - 1/float64(s.Cells))
	return math.Pow(free/(free+1), float64(s.Max)), nil
}

// FPS returns the upper bound of the false positive rate at any time and for any
// stream, which uniform streams reach: (1 - Zeros)^K (DR06, Eq. 8, Corollaries
// 3 to 5). Streams with Zipf's distribution stay 2 to 5 times below it.
func (s Stable) FPS() (float64, error) {
	zeros, err := s.Zeros()
	if err != nil {
		return 0, err
	}
	return math.Pow(1-zeros, float64(s.K)), nil
}

// ZerosAfter returns the expected share of zero cells after n elements of a
// uniform stream: DR06, Eq. 1 to 5, with p = P/m and k = K/m. It falls from 1
// to [Stable.Zeros]; for Max = 1 it is z + (1-z) ((1-k)(1-p))^n, about
// z + (1-z) e^(-(K+P) n/m). Domain: n >= 0.
func (s Stable) ZerosAfter(n int) (float64, error) {
	if err := s.validate(); err != nil {
		return 0, err
	}
	if err := requireAtLeast("n", n, 0); err != nil {
		return 0, err
	}
	return max(0, 1-s.setSince(float64(n))), nil
}

// setSince returns the probability that a cell was set within the last n elements
// and is not zero yet: k times the sum over l < n of (1-k)^l P(Bin(l,p) < Max).
//
// The sum has a closed form. The coefficient of its term for j decrements,
// C(l,j) (p(1-k))^j ((1-k)(1-p))^(l-j), is negative binomial in l: with stop =
// 1-(1-k)(1-p) it adds up to (p(1-k)/stop)^j P(Bin(n,stop) > j) / stop. So the time
// depends on Max, not on n.
func (s Stable) setSince(n float64) float64 {
	p, k := float64(s.P)/float64(s.Cells), float64(s.K)/float64(s.Cells)
	stop := k + p - k*p
	ratio := p * (1 - k) / stop
	sum, weight := 0.0, k/stop
	tail := newBinomialTail(n, stop)
	for range s.Max {
		sum += weight * tail.next()
		weight *= ratio
	}
	return sum
}

// FNR returns the probability that a duplicate is reported as distinct when gap
// other elements of a uniform stream have come since the element was last
// there (DR06, Eq. 9 to 14 with k_ij = K/m, which is Eq. 16). It is 0 for gaps
// below Max. A gap counts the elements between the two, so that an element
// repeated at once has gap 0. The absolute error is about 1e-15. Domain: gap >= 0.
func (s Stable) FNR(gap int) (float64, error) {
	if err := s.validate(); err != nil {
		return 0, err
	}
	if err := requireAtLeast("gap", gap, 0); err != nil {
		return 0, err
	}
	p, k := float64(s.P)/float64(s.Cells), float64(s.K)/float64(s.Cells)
	if gap < s.Max {
		return 0, nil
	}
	n := float64(gap)
	untouched := math.Exp(n * math.Log1p(-k))
	alive := s.setSince(n) + untouched*binomialUpTo(s.Max-1, n, p)
	return 1 - math.Pow(min(alive, 1), float64(s.K)), nil
}

// StableP returns the P at which the bound on the false positive rate is fps or
// less: DR06, Eq. 17, rounded up. The paper's examples round down (4.32 to 4), by
// which their bound is above the rate asked for. Domain: cells > k >= 1,
// top >= 1, 0 < fps < 1; an error too if more than cells decrements are needed.
func StableP(cells, k, top int, fps float64) (int, error) {
	exact, err := StablePExact(cells, k, top, fps)
	if err != nil {
		return 0, err
	}
	if exact > float64(cells) {
		return 0, fmt.Errorf("theory: a false positive rate of %g needs %.4g decrements for each element, but there are %d cells: %w",
			fps, exact, cells, ErrDomain)
	}
	// An exact whole number may come out a rounding error above itself.
	p := max(1, int(math.Ceil(exact*(1-1e-12))))
	return min(p, cells), nil
}

// StablePExact returns DR06, Eq. 17, before it is rounded to a whole number:
//
//	1 / ((1/(1-fps^(1/k))^(1/top) - 1) (1/k - 1/cells))
//
// Domain: cells > k >= 1, top >= 1, 0 < fps < 1.
func StablePExact(cells, k, top int, fps float64) (float64, error) {
	if err := requireStable(cells, k, top); err != nil {
		return 0, err
	}
	if err := requireRate("fps", fps); err != nil {
		return 0, err
	}
	// (1-x)^(-1/top) - 1 without cancellation, which small x would suffer from.
	odds := math.Expm1(-math.Log1p(-math.Pow(fps, 1/float64(k))) / float64(top))
	return 1 / (odds * (1/float64(k) - 1/float64(cells))), nil
}
