package rivals

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// bestAgePartitioned returns the K up to 16 and L up to 40 with the lowest false
// positive rate for lines of size bits that hold load elements of a window on average.
func bestAgePartitioned(size int, load float64) (k, l int, err error) {
	lowest := math.Inf(1)
	for tryK := 1; tryK <= 16; tryK++ {
		for tryL := 1; tryL <= 40 && tryK+tryL <= size; tryL++ {
			rate, err := agePartitionedFPR(tryK, tryL, size, load)
			if err != nil {
				return 0, 0, err
			}
			if rate < lowest {
				lowest, k, l = rate, tryK, tryL
			}
		}
	}
	return k, l, nil
}

// agePartitionedFPR returns the false positive rate at the end of a generation. The
// elements of a full slice, those of K generations, are a Poisson variable, and the
// slices of a line that matters hold about equally many; measured rates in lines are
// within a third of what this gives, and of many elements it makes no difference.
func agePartitionedFPR(k, l, size int, load float64) (float64, error) {
	const (
		unit    = 1000 // of an element, since a line's generation may have less than one
		crowded = 1000
	)
	rate := func(slice float64) (float64, error) {
		return theory.AgePartitioned{
			K: k, L: l, SliceBits: unit * (size / (k + l)),
			Generation: int(unit * slice / float64(k)),
		}.FullFPR()
	}
	mean := load * float64(k) / float64(l)
	if mean > crowded {
		return rate(mean)
	}
	sum := 0.0
	for x := 1.0; x < mean+8*math.Sqrt(mean)+8; x++ {
		p, err := rate(x)
		if err != nil {
			return 0, err
		}
		factorial, _ := math.Lgamma(x + 1)
		sum += p * math.Exp(x*math.Log(mean)-mean-factorial)
	}
	return sum, nil
}
