// SPDX-License-Identifier: Apache-2.0

package sizing

import "math"

// anchored is a stream in windows that repeats do not extend: an element is inserted, its
// repeats up to a window later are copies, and the first repeat after that is inserted
// again. The sightings of an element are a renewal process (Cox, Renewal
// Theory, 1962): each is followed by the next in the window with a probability equal to the
// share of repeats, after a gap of their distribution.
//
// The age of an insertion runs from 0 to the window in anchoredSteps equal steps. Where a
// gap lies between two steps, both take a part, so that the mean is right.
type anchored struct {
	window float64 // in elements
	// sightings[i] is the mean number of sightings at age i of an insertion, itself
	// included, and last[i] the probability that the last sighting is there.
	sightings, last []float64
	// insertions is the share of elements that are inserted by a filter that misses
	// nothing.
	insertions float64
}

const anchoredSteps = 256

// leastRepeats replaces a share of repeats of 0, so that their misses still have a mean.
const leastRepeats = 1e-6

func newAnchored(q *Question) *anchored {
	a := &anchored{window: q.Elements}
	a.renewed(gapSteps(q.Gaps, q.Elements/anchoredSteps), math.Max(leastRepeats, 1-q.Distinct))
	found, _ := a.copies(func(float64) float64 { return 1 })
	a.insertions = 1 / (1 + found)
	return a
}

// renewed computes the steps of a renewal process.
func (a *anchored) renewed(next []float64, repeats float64) {
	a.sightings, a.last = make([]float64, len(next)), make([]float64, len(next))
	followed := make([]float64, len(next)) // probability that the next sighting comes within i steps
	sum := 0.0
	for i := range next {
		next[i] *= repeats
		sum += next[i]
		followed[i] = sum
		before := 0.0
		if i == 0 {
			before = 1
		}
		for j := 1; j <= i; j++ {
			before += next[j] * a.sightings[i-j]
		}
		a.sightings[i] = before / (1 - next[0])
	}
	for i, n := range a.sightings {
		a.last[i] = n * (1 - followed[len(followed)-1-i])
	}
}

// gapSteps distributes gaps to steps 0 to anchoredSteps.
func gapSteps(gaps Gaps, step float64) []float64 {
	const pieces = 16 // of a bin
	next := make([]float64, anchoredSteps+1)
	low := 0.0
	for _, b := range gaps {
		for piece := range pieces {
			at := (low + (b.Upto-low)*(float64(piece)+0.5)/pieces) / step
			i := int(math.Min(at, anchoredSteps))
			part := math.Min(1, at-float64(i))
			next[i] += b.Share / pieces * (1 - part)
			next[min(i+1, anchoredSteps)] += b.Share / pieces * part
		}
		low = b.Upto
	}
	return next
}

// copies returns how many copies of an insertion a filter finds, and the probability that
// it misses one: it forgets the insertion before its last copy. survival is the probability that
// the insertion is still remembered after the given number of elements.
func (a *anchored) copies(survival func(elements float64) float64) (found, missed float64) {
	found = a.sightings[0] - 1
	for i := 1; i < len(a.sightings); i++ {
		remembered := survival(float64(i) / anchoredSteps * a.window)
		found += a.sightings[i] * remembered
		missed += a.last[i] * (1 - remembered)
	}
	return found, missed
}

// rowMisses returns the share of the copies that rows of the given number of cells miss,
// and the share of elements that they insert, including missed copies. A copy is a
// sighting up to a window after the last insertion of its element. A row evicts the
// oldest insertion.
//
// A row is shared by a Poisson number of the window's elements, of the given mean without
// the element in question. The row forgets nothing if they fit. If not, a miss is an
// insertion, which evicts an element of the same row. So each number of elements has
// an equilibrium of its own.
func (a *anchored) rowMisses(different, mean float64, cells int) (fnr, insertions float64) {
	var missed, copies, sum float64
	add := func(n int, weight float64) {
		m, c, share := a.crowdedRow(different, n, cells)
		missed += weight * share * m
		copies += weight * share * c
		insertions += weight * share
		sum += weight
	}
	const even = 60 // a mean from which on rows are so full that their differences do not matter
	if mean > even {
		add(int(math.Min(mean, 1<<40)), 1)
	} else {
		for n, weight := 0, math.Exp(-mean); float64(n) < mean || weight > 1e-12; n++ {
			if weight > 1e-12 {
				add(n, weight)
			}
			weight *= mean / float64(n+1)
		}
	}
	if missed == 0 {
		return 0, insertions / sum
	}
	return missed / copies, insertions / sum
}

// crowdedRow returns the misses and copies of an insertion into a row that n other
// elements share, and the share of sightings that are inserted.
func (a *anchored) crowdedRow(different float64, n, cells int) (missed, copies, insertions float64) {
	if n < cells {
		found := 1/a.insertions - 1
		return 0, found, a.insertions
	}
	const steps = 16 // of a bisection: 2^-16 is less than the error of the age's steps
	low, high := a.insertions, 1.0
	for range steps {
		insertions = (low + high) / 2
		var found float64
		found, missed = a.copies(func(elements float64) float64 {
			return fewerThan(cells, n, insertions*elements/different)
		})
		copies = found + missed
		if 1/(1+found) > insertions {
			low = insertions
		} else {
			high = insertions
		}
	}
	return missed, copies, insertions
}

// fewerThan returns the probability of fewer than k successes among n >= k trials.
func fewerThan(k, n int, chance float64) float64 {
	if chance >= 1 {
		return 0
	}
	p := math.Exp(float64(n) * math.Log1p(-chance))
	sum := p
	for i := 1; i < k; i++ {
		p *= float64(n-i+1) / float64(i) * chance / (1 - chance)
		sum += p
	}
	return math.Min(1, sum)
}
