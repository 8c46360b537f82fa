// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"cmp"
	"math"
	"sync"
)

// LineFilter is a blocked Bloom filter (Putze, Sanders, Singler, JEA 2009): an element
// has all its K cells in one line, each in a separate part, and is found if all are set.
// A load is the mean number of elements in a line; the numbers have a Poisson
// distribution.
type LineFilter struct {
	Cells int // of a line, at least 1
	K     int // from 1 to Cells
}

// FPR returns the false positive rate at a load: the probability that all K cells of a
// new element are set. A cell is empty after x elements with probability (1-K/Cells)^x,
// and cells of different parts are independent for a given x, so the rate is the mean
// over the Poisson number x of (1-(1-K/Cells)^x)^K.
//
// Crowded lines make this higher than the K-th power of the share of set cells: up to K!
// times when lines are nearly empty, and little when they are not. Domain: load >= 0;
// loads above 1e6 count as 1e6.
func (f LineFilter) FPR(load float64) (float64, error) {
	if err := cmp.Or(
		requireWithin("K", f.K, 1, f.Cells),
		requireLoad("load", min(load, maxLoad)),
	); err != nil {
		return 0, err
	}
	fpr := meanOverPoisson(min(load, maxLoad), func(x float64) float64 {
		return math.Pow(powMinus(f.share(), x), float64(f.K))
	})
	return min(fpr, 1), nil
}

// FPROfFill returns the false positive rate of lines with the given share of their cells
// set, or 1 if no load gives that share.
func (f LineFilter) FPROfFill(fill float64) float64 {
	fpr, err := f.FPR(-math.Log1p(-fill) / f.share())
	if err != nil || fill >= 1 {
		return 1
	}
	return fpr
}

// share returns the share of a line's cells that an element sets.
func (f LineFilter) share() float64 { return float64(f.K) / float64(f.Cells) }

// MaxSplitRounds is the most rounds of a [SplitBlock].
const MaxSplitRounds = 8

// SplitBlock is a blocked Bloom filter with lines of eight words of 64 bits, in which an
// element owns one random bit a round in each word of its line. (Putze, Sanders, Singler,
// Cache-, Hash- and Space-Efficient Bloom Filters, JEA 2009; a split block Bloom filter
// as Apache Parquet has it, with wider lines.) Loads are mean numbers of elements in a
// line.
type SplitBlock struct {
	Rounds int // bits that an element owns in a word, from 1 to [MaxSplitRounds]
}

// BestSplitBlock returns the filter that carries the highest load at a false positive
// rate, which is the fewest bits for each element, and that load. Domain: 0 < fpr < 1.
func BestSplitBlock(fpr float64) (best SplitBlock, load float64, err error) {
	if err := requireRate("false positive rate", fpr); err != nil {
		return best, 0, err
	}
	for rounds := 1; rounds <= MaxSplitRounds; rounds++ {
		if l := (SplitBlock{rounds}).Load(fpr); l > load {
			best, load = SplitBlock{rounds}, l
		}
	}
	return best, load, nil
}

// maxLineLoad bounds the number of elements in a line that the tables hold. Mean loads
// stay at half of it. There the Poisson tail beyond is less than 1e-90, and all bits of a
// line are set.
const maxLineLoad = 1024

// FPR returns the false positive rate at a load: the mean of the rate of a line over the
// Poisson distribution of its elements (Putze et al., section 3). The textbook formula
// for the same number of bits is too low by orders of magnitude at low rates, since these
// come from the few crowded lines. A load below 0 counts as 0.
func (b SplitBlock) FPR(load float64) float64 {
	if !(load > 0) {
		return 0
	}
	load = min(load, maxLineLoad/2)
	probability, fpr := math.Exp(-load), 0.0
	for x, p := range lineFPRs[b.Rounds-1]() {
		fpr += probability * p
		probability *= load / float64(x+1)
		if float64(x) > load && probability < fpr*1e-18 {
			break // the rest would be lost to rounding
		}
	}
	return min(fpr, 1)
}

// Load returns the load at which the false positive rate reaches fpr, at most 512. A rate
// of 0 or less has load 0.
func (b SplitBlock) Load(fpr float64) float64 {
	low, high := 0.0, float64(maxLineLoad/2)
	for range 60 {
		if mid := (low + high) / 2; b.FPR(mid) < fpr {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// Density returns the expected share of set bits at a load. The number of elements that
// own a given bit is a Poisson variable too. A load below 0 counts as 0.
func (b SplitBlock) Density(load float64) float64 {
	if !(load > 0) {
		return 0
	}
	return -math.Expm1(-load * b.hit())
}

// LoadOfDensity is the inverse of Density. It is infinite for densities of 1 or more.
func (b SplitBlock) LoadOfDensity(density float64) float64 {
	if density >= 1 {
		return math.Inf(1)
	}
	return -math.Log1p(-max(density, 0)) / b.hit()
}

// hit is the probability that an element sets a given bit of its line.
func (b SplitBlock) hit() float64 {
	return 1 - math.Pow(63.0/64, float64(b.Rounds))
}

// lineFPRs[r-1] lists, for lines with r rounds, the false positive rate of a line
// with x elements.
//
// An element throws r bits into each word of 64, so a word has seen t = r*x throws. A new
// element probes r positions of it. The chance that all are set follows by inclusion and
// exclusion over the clear positions, which all t throws have missed:
//
//	sum over i of (-1)^i C(r,i) E[(1 - D_i/64)^t]
//
// where D_i is the number of different positions among i. For r = 1 it is
// 1-(63/64)^x. The eight words are independent given x.
var lineFPRs = func() (tables [MaxSplitRounds]func() []float64) {
	for r := range tables {
		tables[r] = sync.OnceValue(func() []float64 { return lineFPRTable(r + 1) })
	}
	return tables
}()

func lineFPRTable(rounds int) []float64 {
	// different[i][d]: probability that d of i positions differ.
	var different [MaxSplitRounds + 1][MaxSplitRounds + 1]float64
	different[0][0] = 1
	for i := 1; i <= rounds; i++ {
		for d := 1; d <= i; d++ {
			different[i][d] = different[i-1][d]*float64(d)/64 + different[i-1][d-1]*float64(65-d)/64
		}
	}
	table := make([]float64, maxLineLoad)
	for x := range table {
		word, sign, choose := 0.0, 1.0, 1.0
		for i := 0; i <= rounds; i++ {
			missed := 0.0
			for d, p := range different[i][:i+1] {
				missed += p * math.Pow(1-float64(d)/64, float64(rounds*x))
			}
			word += sign * choose * missed
			sign, choose = -sign, choose*float64(rounds-i)/float64(i+1)
		}
		table[x] = math.Pow(max(word, 0), 8)
	}
	return table
}
