package theory

import (
	"fmt"
	"math"
)

// BloomDensity returns the number of set bits at which the false positive rate of m
// bits and k hash functions is fpr: m fpr^(1/k) (KNPS, section 5, the density-based
// threshold). [BloomCapacity] is the cardinality-based one. Domain: m >= 1, k >= 1,
// 0 < fpr < 1.
func BloomDensity(m, k int, fpr float64) (float64, error) {
	if err := requireBloom(m, k, 0); err != nil {
		return 0, err
	}
	if err := requireRate("fpr", fpr); err != nil {
		return 0, err
	}
	return float64(m) * math.Pow(fpr, 1/float64(k)), nil
}

// Dynamic is a Bloom filter of dynamic size (KNPS, section 5): filters of Bits bits and K
// hash functions. The newest takes elements until its false positive rate is FPR.
//
// Its methods take the number of elements held: those of the window, each once, or all
// for append-only filters. For filters that grow by density the results are means, since
// the number of elements that fill a filter varies.
type Dynamic struct {
	Bits int     // m of each filter, at least 1
	K    int     // at least 1
	FPR  float64 // between 0 and 1, and such that a filter takes at least one element
}

// Capacity returns the elements that a filter takes: [BloomCapacity], rounded down.
func (d Dynamic) Capacity() (int, error) {
	capacity, err := BloomCapacity(d.Bits, d.K, d.FPR)
	if err != nil {
		return 0, err
	}
	if capacity < 1 {
		return 0, fmt.Errorf("theory: a filter of %d bits takes no element at an FPR of %g: %w", d.Bits, d.FPR, ErrDomain)
	}
	if capacity >= math.MaxInt {
		return 0, fmt.Errorf("theory: a filter of %d bits takes %.3g elements: %w", d.Bits, capacity, ErrDomain)
	}
	return int(capacity), nil
}

// MeanFPR returns the mean false positive rate while the newest filter fills up, from one
// element to Capacity; older filters took Capacity each, and the oldest has lost what left
// the window. It takes O(held + Capacity). Domain: held >= 0.
func (d Dynamic) MeanFPR(held int) (float64, error) {
	capacity, err := d.capacityFor(held)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for newest := 1; newest <= capacity; newest++ {
		sum += d.combined(held, newest, capacity)
	}
	return sum / float64(capacity), nil
}

// combined is the rate when the newest filter took newest elements.
func (d Dynamic) combined(held, newest, capacity int) float64 {
	settings := float64(d.K) / float64(d.Bits)
	none := 1.0
	for part := min(newest, held); held > 0; part = min(capacity, held) {
		none *= 1 - bloomLimit(settings*float64(part), d.K)
		held -= part
	}
	return 1 - none
}

// CardinalityFilters returns the mean number of filters alive when events come steadily
// and filters grow by cardinality: 1 + (held-1)/Capacity, since a filter lives from its
// first event to the end of the window of its last one. So it is above 1 for any number
// of events (KNPS, section 5: "between one and two"). Domain: held >= 1.
func (d Dynamic) CardinalityFilters(held int) (float64, error) {
	if err := requireAtLeast("held", held, 1); err != nil {
		return 0, err
	}
	capacity, err := d.Capacity()
	if err != nil {
		return 0, err
	}
	return 1 + float64(held-1)/float64(capacity), nil
}

func (d Dynamic) capacityFor(held int) (int, error) {
	if err := requireAtLeast("held", held, 0); err != nil {
		return 0, err
	}
	return d.Capacity()
}
