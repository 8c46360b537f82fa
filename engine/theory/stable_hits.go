package theory

import (
	"fmt"
	"math"
)

// StableHits is a stable Bloom filter whose elements decrement P cells if they are new to
// it, and HitP if they are found: lines of cells as asm.TestAndSetCells has them, with
// the cells of a line. HitP = P is the paper's [Stable].
type StableHits struct {
	Stable Stable
	HitP   int // from 0 to P
}

// Zeros returns the share of zero cells that a stream of new elements brings an empty
// filter to: the largest z with
//
//	z = (g / (g+1))^Max, g = (P (1-f) + HitP f) (1/K - 1/Cells), f = (1-z)^K
//
// which is DR06, Theorem 2, with the mean of both decrements, as whether another
// element is found does not depend on a cell's value. With few decrements on hits and Max
// above 1 it may be 0: fewer zeros make more hits, which leave fewer zeros. The right
// side grows with z, so that steps from z = 1 fall to the solution. It is exact in the limit of
// many cells; with N in a line f is too low by up to a share K (K-1)/2 (1-x)/(xN),
// where x is 1-z, as lines differ. It takes up to some milliseconds, near the P below
// which only 0 is left.
func (s StableHits) Zeros() (float64, error) {
	m := s.Stable
	if err := m.validate(); err != nil {
		return 0, err
	}
	if s.HitP < 0 || s.HitP > m.P {
		return 0, fmt.Errorf("theory: HitP is %d, must be from 0 to P, which is %d: %w", s.HitP, m.P, ErrDomain)
	}
	const steps = 100_000
	z := 1.0
	for range steps {
		f := math.Pow(1-z, float64(m.K))
		g := (float64(m.P)*(1-f) + float64(s.HitP)*f) * (1/float64(m.K) - 1/float64(m.Cells))
		next := math.Pow(g/(g+1), float64(m.Max))
		if next >= z {
			break
		}
		z = next
	}
	return z, nil
}

// FPS returns the false positive rate that a stream of new elements brings an empty
// filter to: (1 - Zeros)^K. It bounds that of all streams if HitP = P, or Max = 1, where
// a hit changes nothing but by its decrements.
func (s StableHits) FPS() (float64, error) {
	zeros, err := s.Zeros()
	if err != nil {
		return 0, err
	}
	return math.Pow(1-zeros, float64(s.Stable.K)), nil
}
