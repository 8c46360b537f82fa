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

// TimerContent returns the mean number of elements that a sliding filter without errors
// holds, whose window is that many events long, if each event is independently
// element i with probability chances[i]:
//
//	sum over i of w / (w - 1 + 1/chances[i])
//
// for w events in the window. An element that is delivered is held back for w - 1
// events, and comes again 1/chances[i] events later on average. As duplicates do not
// set timers (KNPS, section 4), it is less than the distinct elements of a window.
// Domain: events >= 1, 0 <= chances[i] <= 1.
func TimerContent(chances []float64, events int) (float64, error) {
	if err := requireAtLeast("events", events, 1); err != nil {
		return 0, err
	}
	w, sum := float64(events), 0.0
	for _, p := range chances {
		if err := requireShare("chance", p); err != nil {
			return 0, err
		}
		sum += w * p / ((w-1)*p + 1)
	}
	return sum, nil
}
