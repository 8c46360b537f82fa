// SPDX-License-Identifier: Apache-2.0

package forms

import "math"

// EqualTimers is a Bloom filter of timers with the equal timers heuristic (KNPS,
// section 4): an element is a duplicate if none of its K timers is zero and at least
// AtLeast of them, k', are equal.
//
// The paper only has the rate for k' = k and one other element, (1-e^(-k/m))^k. The formulas
// here assume that the positions of all elements are uniform and independent, and that each
// time unit has one element. The j-th latest element is then the last to have set L_j timers,
// where L_j is binomial of K trials with chance (1-1/m)^(K(j-1)), and a given timer holds its
// value with probability L_j/m. So the chance of any pattern among the K timers is a sum over
// multinomial terms in the moments of L_j, up to a share in the order of K^2/m.
type EqualTimers struct {
	Timers  int // m, at least 1
	K       int // from 1 to 64
	AtLeast int // k', from 1, which switches the heuristic off, to K
}

// FPR returns the probability that an element that is not among the n of the window
// is reported a duplicate. It takes O(n K^2). Domain: n >= 0.
func (e EqualTimers) FPR(n int) float64 {
	// Chances that some of the timers hold values of the elements so far: small has
	// no group of AtLeast among them, large has one.
	small, large := make(assignments, e.K+1), make(assignments, e.K+1)
	small[0] = 1
	for j := range n {
		values := e.moments(j)
		large = large.extended(values, 0, e.K)
		for c, p := range small.extended(values, e.AtLeast, e.K) {
			large[c] += p
		}
		small = small.extended(values, 0, e.AtLeast-1)
	}
	return min(1, large[e.K])
}

// moments returns E[(L/m)^i] for i = 0 to K, where L is the number of timers that an
// element set last, given the number of newer elements.
func (e EqualTimers) moments(newer int) []float64 {
	moments, k := make([]float64, e.K+1), float64(e.K)
	chance := 1 - powMinus(1/float64(e.Timers), k*float64(newer)) // chance that newer ones leave a timer
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

// extended returns the assignments with one more value, which least to most of the
// remaining timers hold. moments[i] is the probability that i given timers hold it.
func (a assignments) extended(moments []float64, least, most int) assignments {
	next, k := make(assignments, len(a)), len(a)-1
	for c, sum := range a {
		for i := least; i <= min(most, k-c); i++ {
			next[c+i] += sum * binomialCoefficient(k-c, i) * moments[i]
		}
	}
	return next
}

// binomialCoefficient returns C(n,i) for 0 <= i <= n <= 64.
func binomialCoefficient(n, i int) float64 {
	c := 1.0
	for j := range min(i, n-i) {
		c = c * float64(n-j) / float64(j+1)
	}
	return c
}
