package theory

import (
	"fmt"
	"math"
)

// AgePartitioned is an age-partitioned Bloom filter (Shtul, Baquero, Almeida,
// Age-Partitioned Bloom Filters, 2020): K+L slices in the order of their age. An element
// sets a bit in each of the K youngest slices. It is reported when any K neighboring
// slices have its bits. After each generation the oldest slice is cleared and becomes the
// youngest. So the filter finds everything of the last L generations.
type AgePartitioned struct {
	K, L       int // each from 1 to 1024
	SliceBits  int // at least 1
	Generation int // different elements that a generation inserts, at least 0
}

func (a AgePartitioned) validate() error {
	for _, v := range []struct {
		name  string
		value int
	}{{"K", a.K}, {"L", a.L}} {
		if v.value < 1 || v.value > 1024 {
			return fmt.Errorf("theory: %s is %d, must be from 1 to 1024: %w", v.name, v.value, ErrDomain)
		}
	}
	if err := requireAtLeast("bits of a slice", a.SliceBits, 1); err != nil {
		return err
	}
	return requireAtLeast("generation", a.Generation, 0)
}

// FullFPR returns the false positive rate at the end of a generation, its highest.
func (a AgePartitioned) FullFPR() (float64, error) {
	if err := a.validate(); err != nil {
		return 0, err
	}
	return a.fpr(float64(a.Generation), float64(a.Generation)), nil
}

// FPR returns the mean false positive rate over a generation of the steady state, by
// Simpson's rule.
func (a AgePartitioned) FPR() (float64, error) {
	if err := a.validate(); err != nil {
		return 0, err
	}
	const intervals = 16
	sum := 0.0
	for i := 0; i <= intervals; i++ {
		weight := 2 + 2*float64(i&1)
		if i == 0 || i == intervals {
			weight = 1
		}
		sum += weight * a.fpr(float64(a.Generation), float64(a.Generation)*float64(i)/intervals)
	}
	return sum / (3 * intervals), nil
}

// LineFPR returns the highest false positive rate where all slices of an element lie in one
// of many lines, whose slices have SliceBits each. A window of L generations inserts load
// elements in a line on average; Generation is not used.
//
// The number of elements in a full slice, those of K generations, is a Poisson variable of
// mean m. What counts is its mean over K neighbors. These share most elements, so the mean
// has 2/3 of the variance, m (2 + 1/K^2) / 3, and the rate is that of such a variable.
// Measured rates are within 15 % of it. Domain: load from 0 to 1e6.
func (a AgePartitioned) LineFPR(load float64) (float64, error) {
	if err := a.validate(); err != nil {
		return 0, err
	}
	if err := requireLoad("load", load); err != nil {
		return 0, err
	}
	const less = 2.0 / 3
	mean := load * float64(a.K) / float64(a.L) / less
	if mean == 0 {
		return 0, nil
	}
	sum := 0.0
	for n := math.Floor(max(0, mean-10*math.Sqrt(mean))); ; n++ {
		p := math.Exp(logPoisson(n, mean))
		if n > mean && p <= sum*1e-6 {
			break // the others are fewer still, and no rate is above 1
		}
		sum += p * a.fpr(less*n/float64(a.K), less*n/float64(a.K))
	}
	return min(sum, 1), nil
}

// fpr is the rate after inserted elements of the running generation, for as many elements
// of the others: the probability that some K neighbors among K+L independent slices have a bit set. runs[j] is the
// probability that no K did so far and that the last j are set.
func (a AgePartitioned) fpr(generation, inserted float64) float64 {
	runs, found := make([]float64, a.K), 0.0
	runs[0] = 1
	for age := range a.K + a.L {
		// A slice takes elements in its first K generations.
		elements := float64(a.K) * generation
		if age < a.K {
			elements = inserted + float64(age)*generation
		}
		set := powMinus(1/float64(a.SliceBits), elements)
		found += runs[a.K-1] * set
		none := 0.0
		for j := a.K - 1; j >= 0; j-- {
			none += runs[j]
			if j > 0 {
				runs[j] = runs[j-1] * set
			}
		}
		runs[0] = none * (1 - set)
	}
	return min(found, 1)
}
