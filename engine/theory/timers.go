package theory

import (
	"fmt"
	"math"
	"math/bits"
)

// TimerBits returns the bits of a timer that counts down from window to 0, one for each
// time unit: ceil(log2(window+1)). KNPS, section 4, has ceil(log2(window)), which has no
// code for 0 if window is a power of two. Domain: window >= 1.
func TimerBits(window int) (int, error) {
	if err := requireAtLeast("window", window, 1); err != nil {
		return 0, err
	}
	return bits.Len(uint(window)), nil
}

// TimerContent returns the mean number of elements that an error-free sliding filter
// holds. Its window is that many events long, and each event is independently element i
// with probability chances[i]:
//
//	sum over i of w / (w - 1 + 1/chances[i])
//
// for w events in the window. An element that is delivered is held back for w - 1 events,
// and comes again 1/chances[i] events later on average. Duplicates do not set timers
// (KNPS, section 4), so this is less than the number of distinct elements in a window.
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

// maxEqualK bounds K for [EqualTimers]: its binomial coefficients are exact enough, and
// no timers need more hash functions.
const maxEqualK = 64

// EqualTimers is a Bloom filter of timers with the equal timers heuristic (KNPS,
// section 4): an element is a duplicate if none of its K timers is zero and at least
// AtLeast of them, k', are equal.
//
// The paper only has the rate for k' = k and one other element, (1-e^(-k/m))^k. The formulas here assume that the positions of all elements are
// uniform and independent, and that each time unit has one element. The j-th latest
// element is then the last to have set L_j timers, where L_j is binomial of K trials with
// chance (1-1/m)^(K(j-1)), and a given timer holds its value with probability L_j/m. So
// the chance of any pattern among the K timers is a sum over multinomial terms in the
// moments of L_j, up to a share in the order of K^2/m.
type EqualTimers struct {
	Timers  int // m, at least 1
	K       int // from 1 to 64
	AtLeast int // k', from 1, which switches the heuristic off, to K
}

func (e EqualTimers) validate() error {
	if err := requireAtLeast("timers", e.Timers, 1); err != nil {
		return err
	}
	if e.K < 1 || e.K > maxEqualK {
		return fmt.Errorf("theory: K is %d, must be from 1 to %d: %w", e.K, maxEqualK, ErrDomain)
	}
	if e.AtLeast < 1 || e.AtLeast > e.K {
		return fmt.Errorf("theory: at least %d timers, must be from 1 to K, which is %d: %w", e.AtLeast, e.K, ErrDomain)
	}
	return nil
}

// FPR returns the probability that an element that is not among the n of the window
// is reported a duplicate. It takes O(n K^2). Domain: n >= 0.
func (e EqualTimers) FPR(n int) (float64, error) {
	if err := e.validate(); err != nil {
		return 0, err
	}
	if err := requireAtLeast("n", n, 0); err != nil {
		return 0, err
	}
	// Chances that some of the timers hold values of the elements so far: small has
	// no group of AtLeast among them, large has one.
	small, large := newAssignments(e.K), make(assignments, e.K+1)
	for j := range n {
		values := e.moments(j)
		large.extend(values, 0, e.K)
		large.addExtended(small, values, e.AtLeast, e.K)
		small.extend(values, 0, e.AtLeast-1)
	}
	return min(1, large[e.K]), nil
}

// FNR returns the probability that an element is reported distinct after newer other
// ones of the window were set. It takes O(newer K^2). Domain: newer >= 0.
func (e EqualTimers) FNR(newer int) (float64, error) {
	if err := e.validate(); err != nil {
		return 0, err
	}
	if err := requireAtLeast("newer elements", newer, 0); err != nil {
		return 0, err
	}
	own := make([]float64, e.K+1)
	left := e.leftBy(newer)
	for i := range own {
		own[i] = math.Pow(left, float64(i))
	}
	small := newAssignments(e.K)
	small.extend(own, 0, e.AtLeast-1)
	for j := range newer {
		small.extend(e.moments(j), 0, e.AtLeast-1)
	}
	return min(1, small[e.K]), nil
}

// leftBy returns the expected share of timers that so many elements leave unset.
func (e EqualTimers) leftBy(elements int) float64 {
	return 1 - powMinus(1/float64(e.Timers), float64(e.K)*float64(elements))
}

// moments returns E[(L/m)^i] for i = 0 to K, where L is the number of timers that
// were set last by the element after which newer ones came.
func (e EqualTimers) moments(newer int) []float64 {
	moments := make([]float64, e.K+1)
	chance, k := e.leftBy(newer), float64(e.K)
	for l := range e.K + 1 {
		term := binomialCoefficient(e.K, l) * math.Pow(chance, float64(l)) * math.Pow(1-chance, k-float64(l))
		for i := range moments {
			moments[i] += term
			term *= float64(l) / float64(e.Timers)
		}
	}
	return moments
}

// assignments holds, for c = 0, 1, ..., the probability that c of the K timers hold one
// of the values so far, in an allowed pattern, summed over the choices of the c timers.
type assignments []float64

func newAssignments(k int) assignments {
	a := make(assignments, k+1)
	a[0] = 1
	return a
}

// extend adds one more value, which least to most of the remaining timers hold.
// moments[i] is the probability that i given timers hold it.
func (a assignments) extend(moments []float64, least, most int) {
	before := make(assignments, len(a))
	copy(before, a)
	clear(a)
	a.addExtended(before, moments, least, most)
}

// addExtended adds the extension of before.
func (a assignments) addExtended(before assignments, moments []float64, least, most int) {
	k := len(a) - 1
	for c, sum := range before {
		if sum == 0 {
			continue
		}
		for i := least; i <= min(most, k-c); i++ {
			a[c+i] += sum * binomialCoefficient(k-c, i) * moments[i]
		}
	}
}

// binomialCoefficient returns C(n,i) for 0 <= i <= n <= 64.
func binomialCoefficient(n, i int) float64 {
	c := 1.0
	for j := range min(i, n-i) {
		c = c * float64(n-j) / float64(j+1)
	}
	return c
}
