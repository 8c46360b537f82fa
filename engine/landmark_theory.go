package engine

import (
	"math"
	"sync"

	"github.com/flowdedup/flowdedup/asm"
)

// maxLineLoad bounds the number of elements in a line that the tables hold. The
// mean loads that filters are sized for stay below half of it, where the
// Poisson tail beyond is less than 1e-90.
const maxLineLoad = 1024

// lineFPRs[r-1] lists, for lines with r rounds, the false positive rate of a line
// with x elements.
//
// An element throws r bits into each word of 64, so a word has seen t = r*x
// throws. A new element asks for r positions of it: with S of them different the
// chance that all are set follows by inclusion and exclusion over those that are
// clear, which have been missed by all t throws:
//
//	sum over i of (-1)^i C(r,i) E[(1 - D_i/64)^t]
//
// where D_i is the number of different positions among i. For r = 1 it is
// 1-(63/64)^x. The eight words are independent given x.
var lineFPRs = func() (tables [asm.MaxBitRounds]func() []float64) {
	for r := range tables {
		tables[r] = sync.OnceValue(func() []float64 { return lineFPRTable(r + 1) })
	}
	return tables
}()

func lineFPRTable(rounds int) []float64 {
	// different[i][d]: probability that i positions are d different ones.
	var different [asm.MaxBitRounds + 1][asm.MaxBitRounds + 1]float64
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

// blockedFPR returns the false positive rate of a filter of 512-bit lines that
// hold load elements on average: the mean of the rate of a line over the
// Poisson distribution of its elements. (Putze, Sanders, Singler, Cache-,
// Hash- and Space-Efficient Bloom Filters, JEA 2009, section 3.) The
// textbook formula for the same number of bits is too low by orders of
// magnitude at low rates, which come from the few crowded lines.
func blockedFPR(rounds int, load float64) float64 {
	load = min(load, maxLineLoad/2)
	probability, fpr := math.Exp(-load), 0.0
	for x, p := range lineFPRs[rounds-1]() {
		fpr += probability * p
		probability *= load / float64(x+1)
		if float64(x) > load && probability < fpr*1e-18 {
			break // the rest would be lost to rounding
		}
	}
	return fpr
}

// bitDensity returns the expected share of set bits at a mean line load.
// The elements that own a given bit are a Poisson variable too.
func bitDensity(rounds int, load float64) float64 {
	return -math.Expm1(-load * bitHit(rounds))
}

// loadOfDensity is the inverse of bitDensity.
func loadOfDensity(rounds int, density float64) float64 {
	return -math.Log1p(-density) / bitHit(rounds)
}

// bitHit is the probability that an element sets a given bit of its line.
func bitHit(rounds int) float64 {
	return 1 - math.Pow(63.0/64, float64(rounds))
}

// maxLoad returns the mean line load at which the false positive rate reaches fpr.
func maxLoad(rounds int, fpr float64) float64 {
	low, high := 0.0, float64(maxLineLoad/2)
	for range 60 {
		if mid := (low + high) / 2; blockedFPR(rounds, mid) < fpr {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// bestRounds returns the number of rounds that carries the highest load at a
// false positive rate of fpr, which is the fewest bits for each element, and that
// load.
func bestRounds(fpr float64) (rounds int, load float64) {
	for r := 1; r <= asm.MaxBitRounds; r++ {
		if l := maxLoad(r, fpr); l > load {
			rounds, load = r, l
		}
	}
	return rounds, load
}

// poissonQuantile returns the smallest count that a Poisson variable exceeds
// with a probability of at most 1-p. For means above 500 it takes the
// normal approximation, rounded up.
func poissonQuantile(mean, p float64) uint64 {
	if mean > 500 {
		return uint64(math.Ceil(mean + math.Sqrt2*math.Erfinv(2*p-1)*math.Sqrt(mean) + 1))
	}
	probability := math.Exp(-mean)
	sum := probability
	count := uint64(0)
	for ; sum < p && probability > 0; count++ {
		probability *= mean / float64(count+1)
		sum += probability
	}
	return count
}
