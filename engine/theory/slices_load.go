package theory

import "fmt"

// Fairness returns Jain's index of loads, (sum x)^2 / (S sum x^2): 1 if all S are
// equal, 1/S if one bears all (KNPS, section 7). Domain: at least one load, none
// negative, not all 0.
func Fairness(loads []int) (float64, error) {
	sum, squares := 0.0, 0.0
	for i, load := range loads {
		if err := requireAtLeast(fmt.Sprintf("load %d", i), load, 0); err != nil {
			return 0, err
		}
		sum += float64(load)
		squares += float64(load) * float64(load)
	}
	if sum == 0 {
		return 0, fmt.Errorf("theory: none of %d slices has any load: %w", len(loads), ErrDomain)
	}
	return sum * sum / (float64(len(loads)) * squares), nil
}

// SplitFairness returns about what [Fairness] comes to for the tests of a long stream
// whose elements come with probabilities that have the given sum of squares, when
// each element is tested at the slices that k1 hash functions choose of S:
//
//	1 / (1 + (S-1) squares/k1)
//
// This is (sum x)^2 over the expectation of S sum x^2 (KNPS, section 3.2, "Load", in
// words). k1 = 1 are horizontal slices, k1 = k vertical ones. Domain: slices >= 1,
// k1 >= 1, 0 < squares <= 1.
func SplitFairness(slices, k1 int, squares float64) (float64, error) {
	if err := requireAtLeast("slices", slices, 1); err != nil {
		return 0, err
	}
	if err := requireAtLeast("k1", k1, 1); err != nil {
		return 0, err
	}
	if !(squares > 0 && squares <= 1) {
		return 0, fmt.Errorf("theory: sum of squared probabilities is %g, must be above 0 and at most 1: %w", squares, ErrDomain)
	}
	return 1 / (1 + float64(slices-1)*squares/float64(k1)), nil
}
