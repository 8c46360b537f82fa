package theory

import "math/bits"

// TimerBits returns the bits of a timer that counts down from window to 0, one for
// each time unit: ceil(log2(window+1)). KNPS, section 4, has ceil(log2(window)),
// which leaves out the 0 if window is a power of two. Domain: window >= 1.
func TimerBits(window int) (int, error) {
	if err := requireAtLeast("window", window, 1); err != nil {
		return 0, err
	}
	return bits.Len(uint(window)), nil
}

// AllTimersEqualFPR returns the probability that a given other element has set all k
// timers of a new one, of m: (1-e^(-k/m))^k (KNPS, section 4, equal timers
// heuristic with k' = k). With n elements in the window the false positive rate is up
// to n times that. Domain: m >= 1, k >= 1.
func AllTimersEqualFPR(m, k int) (float64, error) {
	return BloomFPRApprox(m, k, 1)
}
