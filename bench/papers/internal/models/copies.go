// SPDX-License-Identifier: Apache-2.0

package models

import "math"

// copiesMisses returns the misses of rows of k cells in which every sighting evicts a random
// cell. An element is missed when none of its copies is left. The chain is over how many there
// are: between sightings others evict some, and each sighting adds one, unless it evicts
// another. Rows evict once they are full. The stream of the paper, a population with equal
// chances, has the rates of queues: see forms.Quotient.
func copiesMisses(l *Load, rows, k int, fpr float64) Misses {
	step := make([][]float64, k+1) // probabilities from copies after a sighting to those at the next one
	for from := range step {
		step[from] = make([]float64, k+1)
	}
	left := make([]float64, k+1)
	for _, w := range l.Bins {
		s := l.survival(rows, k, w.At)
		for from := 1; from <= k; from++ {
			s.copies(left[:from+1])
			for to, p := range left[:from+1] {
				step[from][to] += w.Share * p
			}
		}
	}
	after := l.copiesAfter(step)
	m := make(Misses, len(l.Between))
	full := l.fullOfSightings(rows, k)
	for i := range m {
		none := 1.0
		a, b := l.survival(rows, k, i).beta()
		for from := 1; from <= k; from++ {
			x := float64(from - 1)
			none *= (b + x) / (a + b + x)
			m[i] += full * after[from] * none * (1 - fpr)
		}
	}
	return m
}

// fullOfSightings is fullRows for rows that every sighting fills.
func (l *Load) fullOfSightings(rows, k int) float64 {
	if l.Length == 0 {
		return 1
	}
	sum := 0.0
	for i := range finiteSteps {
		t := l.Length * (float64(i) + 0.5) / finiteSteps
		different := l.DifferentIn(t)
		sum += clusters{different: different / float64(rows), again: math.Max(0, 1-different/t)}.atLeast(k)
	}
	return sum / finiteSteps
}

// copiesAfter returns how likely an element has each number of copies after a sighting that
// another one follows.
func (l *Load) copiesAfter(step [][]float64) []float64 {
	k := len(step) - 1
	after := make([]float64, k+1)
	after[1] = 1
	for range 200 {
		next := make([]float64, k+1)
		next[1] = l.Fresh
		for from, p := range after {
			for to, q := range step[from] {
				q *= p * (1 - l.Fresh)
				evicted := float64(to) / float64(k) // a copy of its own
				next[to] += q * evicted
				if to < k {
					next[to+1] += q * (1 - evicted)
				}
			}
		}
		after = next
	}
	return after
}

// survival is the probability that one copy survives a gap, and that two do.
type survival struct{ one, two float64 }

func (l *Load) survival(rows, k, i int) survival {
	c := l.clustersIn(rows, i)
	return survival{1 - c.anyOf(1/float64(k)), 1 - c.anyOf(math.Min(1, 2/float64(k)))}
}

// beta returns the parameters of the distribution of the survival of a gap with these moments.
func (s survival) beta() (a, b float64) {
	const independent = 1e9 // the sum of both where copies survive each for itself
	mean := s.one
	sum := independent
	if spread := s.two - mean*mean; spread > 0 {
		sum = math.Min(independent, mean*(1-mean)/spread)
	}
	sum = math.Max(sum-1, 1e-9)
	return mean * sum, (1 - mean) * sum
}

// copies sets left[n] to the probability that n of len(left)-1 copies survive. Others come to a
// row in bursts, which copies survive together: the number is beta-binomial, with the
// survival of one and of two as its moments.
func (s survival) copies(left []float64) {
	n := len(left) - 1
	mean := s.one
	clear(left)
	if mean < 1e-9 || mean > 1-1e-12 {
		left[int(math.Round(mean))*n] = 1
		return
	}
	a, b := s.beta()
	none, all := 1.0, 1.0
	for j := range n {
		x := float64(j)
		none *= (b + x) / (a + b + x)
		all *= (a + x) / (a + b + x)
	}
	left[0], left[n] = none, all
	up := float64(n)
	if mean < 0.5 {
		for d := 0; d < n-1; d++ {
			x := float64(d)
			left[d+1] = left[d] * (up - x) / (x + 1) * (a + x) / (b + up - x - 1)
		}
		return
	}
	for d := n; d > 1; d-- {
		x := float64(d)
		left[d-1] = left[d] * x / (up - x + 1) * (b + up - x) / (a + x - 1)
	}
}
