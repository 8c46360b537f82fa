// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"cmp"
	"math"
	"math/bits"
)

// EighthsFilter describes lines of Cells cells. An element has one cell in each of K
// eighths of its line, as in line.TestAndSetCells and line.TestAndSetTimers. An element
// that shares an eighth with another element is likely to share the next eighth, too. With K =
// 2 this raises the false positive rate of few elements in a line by half over the rate
// of a [LineFilter].
type EighthsFilter struct {
	Cells int // of a line, a multiple of 8
	K     int // from 1 to 8
}

// eighthsOrder is the distance of an element's eighths from its first, to one side or to
// the other.
var eighthsOrder = [8]int{0, 3, 1, 4, 7, 2, 5, 6}

// FPR returns the false positive rate at a load: the probability that all K cells of a
// new element are set. None of x elements in the line has a cell of a set S of these with
// probability A(S)^x, where an element has none with
//
//	A(S) = mean of (1-8/Cells)^(number of its eighths in S), over the 16 choices of its eighths
//
// So inclusion and exclusion, and the mean over the Poisson number x, give the sum over
// all S of (-1)^|S| e^(-load (1-A(S))). Domain: load >= 0; loads above 1e6 count as 1e6.
func (f EighthsFilter) FPR(load float64) (float64, error) {
	if err := cmp.Or(
		requireWithin("K", f.K, 1, 8),
		requireAtLeast("cells", f.Cells, 8),
		requireLoad("load", min(load, maxLoad)),
	); err != nil {
		return 0, err
	}
	load = min(load, maxLoad)
	own := f.eighths(0, 1)
	sum := 0.0
	for set := own; ; set = (set - 1) & own { // all subsets, the empty one last
		term := math.Exp(-load * f.hit(set))
		if bits.OnesCount8(set)%2 != 0 {
			term = -term
		}
		sum += term
		if set == 0 {
			break
		}
	}
	// The sum loses digits where it is small. Then single elements with all cells
	// dominate, and they give a lower bound.
	alone := -math.Expm1(-load * f.same(own))
	return min(1, max(sum, alone)), nil
}

// FPROfFill returns the false positive rate of lines with the given share of their cells
// set, or 1 if no load gives that share.
func (f EighthsFilter) FPROfFill(fill float64) float64 {
	fpr, err := f.FPR(-math.Log1p(-fill) * float64(f.Cells) / float64(f.K))
	if err != nil || fill >= 1 {
		return 1
	}
	return fpr
}

// eighths returns the eighths of an element with the given first eighth, a bit each.
func (f EighthsFilter) eighths(first, side int) (set uint8) {
	for _, o := range eighthsOrder[:f.K] {
		set |= 1 << ((first + side*o) & 7)
	}
	return set
}

// hit returns 1 - A(set).
func (f EighthsFilter) hit(set uint8) float64 {
	miss := 1 - 8/float64(f.Cells)
	return f.mean(func(other uint8) float64 { return 1 - math.Pow(miss, float64(bits.OnesCount8(set&other))) })
}

// same returns the probability that an element has all cells of another element, whose eighths
// are given.
func (f EighthsFilter) same(own uint8) float64 {
	return f.mean(func(other uint8) float64 {
		if other != own {
			return 0
		}
		return math.Pow(8/float64(f.Cells), float64(f.K))
	})
}

// mean returns the mean over all choices of an element's eighths.
func (f EighthsFilter) mean(of func(eighths uint8) float64) (mean float64) {
	for first := range 8 {
		mean += (of(f.eighths(first, 1)) + of(f.eighths(first, -1))) / 16
	}
	return mean
}
