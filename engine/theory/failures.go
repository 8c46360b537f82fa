package theory

import "math"

// HorizontalFailedAsDistinct returns the rates when elements of failed horizontal
// slices are reported as distinct (KNPS, section 3.2): the false positive rate
// (1-f/S) p, where p is the rate without failures, and the false negative rate f/S.
// For vertical slices see [Sliced.VerticalHybrid] with atLeast = K. Domain:
// 0 <= failed <= Slices, 0 <= p <= 1.
func (s Sliced) HorizontalFailedAsDistinct(failed int, p float64) (fpr, fnr float64, err error) {
	share, err := s.failedShare(failed)
	if err != nil {
		return 0, 0, err
	}
	if err := requireShare("p", p); err != nil {
		return 0, 0, err
	}
	return (1 - share) * p, share, nil
}

// SplitHybrid is [Sliced.VerticalHybrid] for slices of which k1 hash functions choose
// k1, with k2 = K/k1 bits in each (KNPS, Proposition 2): a choice is in a failed slice
// or not with all of its k2 bits, so that with x rounded up to whole choices
//
//	fpr = sum for i = ceil(x/k2) .. k1 of C(k1,i) (1-f/S)^i (f/S)^(k1-i) p^(i/k1)
//
// and fnr is the lower rest of the sum without p. k1 = 1 gives the two horizontal
// cases, k1 = K the vertical one. Domain: k1 divides K, 0 <= failed <= Slices,
// 0 <= p <= 1, 0 <= atLeast <= K.
func (s Sliced) SplitHybrid(k1, failed int, p float64, atLeast int) (fpr, fnr float64, err error) {
	k2, err := s.splitK2(k1)
	if err != nil {
		return 0, 0, err
	}
	if err := requireWithin("least bits in working slices", atLeast, 0, s.K); err != nil {
		return 0, 0, err
	}
	choices := Sliced{Bits: s.Bits, K: k1, Slices: s.Slices}
	return choices.VerticalHybrid(failed, p, (atLeast+k2-1)/k2)
}

// HorizontalMissTolerance returns S_f by misses: the number of horizontal slices with
// which the false negative rate stays within most when failed of them fail and
// their elements are reported as distinct, f/most rounded up (KNPS, section 3.2,
// the alternative to Definition 3). Domain: failed >= 0, 0 < most < 1.
func HorizontalMissTolerance(failed int, most float64) (int, error) {
	return missTolerance(failed, 1, most)
}

// VerticalMissTolerance is [HorizontalMissTolerance] for vertical slices and k hash
// functions. An element is missed if any of its bits is in a failed slice, so that
// S_f = f/(1-(1-most)^(1/k)), rounded up. Domain: k >= 1, failed >= 0, 0 < most < 1.
func VerticalMissTolerance(failed, k int, most float64) (int, error) {
	if err := requireAtLeast("k", k, 1); err != nil {
		return 0, err
	}
	return missTolerance(failed, k, most)
}

// missTolerance uses that the share f/S at which any of k bits is lost with chance
// most is also the rate of Eq. 5 with p = 0.
func missTolerance(failed, k int, most float64) (int, error) {
	if err := requireRate("highest rate", most); err != nil {
		return 0, err
	}
	return slicesFor(failed, 0, -math.Expm1(math.Log1p(-most)/float64(k)))
}
