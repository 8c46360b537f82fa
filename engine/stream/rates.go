// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// bound returns the false positive rate that the filter never exceeds by more than
// chance. For rows of c cells of w bits that is c / (2^w - 1). For the others it is the
// limit that a stream of new elements leads to.
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

// rowRate returns the probability that a row finds an element that never came, given the
// share of its cells that is occupied.
func rowRate(s layout.RowShape, fill float64) float64 {
	return fill * float64(s.Cells()) / (math.Exp2(float64(s.CellBits())) - 1)
}

// uneven returns the mean rate of lines, given the rate of a line with the mean share x
// of occupied cells. Lines differ, so the mean of the K-th power of their shares is
// larger by K(K-1)/2 (1-x)/(xN), with N independent cells in a line.
func (p *parameters) uneven(rate float64) float64 {
	if rate == 0 {
		return 0
	}
	k := float64(p.k)
	x := math.Pow(rate, 1/k)
	return min(1, rate*(1+k*(k-1)/2*(1-x)/(x*float64(p.lineCells()))))
}

// saturatedBits returns the share of set bits that a stream of new elements leads to, for
// the methods that have no parameter for it. Where the share x of the bits is set, an
// element that is not seen sets k (1-x) / (1-x^k) new bits, as not all of its bits are
// set. Before that it clears this number of bits:
//
//	k x (bsbf), x (bsbfsd), k x x (rlbsbf)
//
// With rsbf each element that comes in sets k (1-x) and clears k x. Single deletion
// balances at 1: all bits end up set.
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

// estimate returns the false positive rate of lines, given the share of their cells that
// is occupied. For rows it is exact in the mean over keys. For bits and cells it is the
// rate of a blocked Bloom filter with as many bits set.
func (p *parameters) estimate(fill float64) float64 {
	if p.family() == familyRows {
		return min(1, rowRate(p.shape, fill))
	}
	return theory.LineFilter{Cells: p.lineCells(), K: p.k}.FPROfFill(fill)
}

// stableGap is the distance, in elements of the same line, at which the parameters of a
// stable Bloom filter are to miss as few copies as possible. The best parameters depend
// little on it (Deng and Rafiei, section 4.1).
const stableGap = 16

// chooseStable takes the smallest P that keeps the rate for each K, and of these the K
// that misses fewest copies.
func (p *parameters) chooseStable(c Config) error {
	if err := p.checkStable(c); err != nil {
		return err
	}
	limit := c.FPR
	switch {
	case limit == 0 && c.K != 0 && c.P != 0:
		limit = 1
	case limit == 0:
		limit = defaultStableFPR
	}
	best, fewest, least := *p, math.Inf(1), 1.0
	for k := 1; k <= p.mostK(); k++ {
		if c.K != 0 && c.K != k {
			continue
		}
		q := *p
		q.k, q.p = k, c.P
		if c.P == 0 {
			q.p = q.leastP(limit)
		}
		if bound := q.bound(); bound > limit {
			least = min(least, bound)
			continue
		}
		if misses := q.stableMisses(); misses < fewest {
			best, fewest = q, misses
		}
	}
	if math.IsInf(fewest, 1) {
		return fmt.Errorf("%w: %.3g, must be at least %.3g for sbf with this K, P and Max", engine.ErrFPR, limit, least)
	}
	*p = best
	return nil
}

// checkStable sets Max, and checks K and P.
func (p *parameters) checkStable(c Config) error {
	switch c.Max {
	case 0, 1:
	case 3, 7, 15:
		p.max = c.Max
	default:
		return fmt.Errorf("%w: Max is %d, must be 1, 3, 7 or 15", errParameter, c.Max)
	}
	for _, v := range []struct {
		name        string
		value, most int
	}{{"K", c.K, p.mostK()}, {"P", c.P, p.mostP()}} {
		if v.value < 0 || v.value > v.most {
			return fmt.Errorf("%w: %s is %d, must be from 1 to %d for sbf with Max %d", errParameter, v.name, v.value, v.most, p.max)
		}
	}
	return nil
}

func (p *parameters) mostK() int {
	if p.family() == familyCells {
		return layout.MaxCellK
	}
	return layout.MaxStableParts
}

func (p *parameters) mostP() int {
	if p.family() == familyCells {
		return p.lineCells()
	}
	return layout.MaxStableRun
}

// leastP returns the smallest P that keeps the rate, or the largest possible P.
func (p *parameters) leastP(limit float64) int {
	q := *p
	for q.p = 1; q.p < p.mostP() && q.bound() > limit; {
		q.p++
	}
	return q.p
}

// stable returns the formulas of a line.
func (p *parameters) stable() theory.Stable {
	return theory.Stable{Cells: p.lineCells(), K: p.k, P: p.p, Max: p.max}
}

// stableMisses returns the share of copies that are missed at the distance stableGap in
// their line.
func (p *parameters) stableMisses() float64 {
	fnr, err := p.stable().FNR(stableGap)
	if err != nil {
		return 1
	}
	return fnr
}

// stableRate returns the false positive rate that a stream of new elements leads to. Only
// new elements decrement cells of one bit.
func (p *parameters) stableRate() float64 {
	var fpr float64
	var err error
	if p.family() == familyBits {
		fpr, err = theory.StableMissFPS(p.p, p.k)
	} else {
		fpr, err = p.stable().FPS()
	}
	if err != nil {
		return 1
	}
	return fpr
}
