// SPDX-License-Identifier: Apache-2.0

package models

import (
	"math"
	"slices"
)

// Lives says how a stream uses a filter in which an element lives for a time, however often
// it comes again. Lives[i] is the share of the elements that begin a life of 2^(i/4)
// elements: the first sighting, and each one later than that after the last that began a
// life. It falls from 1 to the share of new elements. Gaps alone do not give it: elements that came
// often may go on to come often.
type Lives []float64

const livesPerOctave = 4

// check returns an error unless the shares fall.
func (l Lives) check() error {
	for i, share := range l {
		if !(share > 0 && share <= 1) || i > 0 && share > l[i-1] {
			return impossible("share %d of the lives is %v, must be above 0 and at most the one before", i, share)
		}
	}
	return nil
}

// begun returns, by grid position, the share of the elements that begin a life of
// between[i] elements. The measured ones are interpolated: their logarithms above the share
// of new elements are nearly straight. Without them gaps are taken as independent.
func (r *Request) begun() []float64 {
	if r.lifeBegun == nil {
		r.lifeBegun = r.Load.begun(r.Lives)
	}
	return r.lifeBegun
}

func (l *Load) begun(lives Lives) []float64 {
	begun := make([]float64, len(l.Between))
	if lives == nil {
		for i, found := range l.foundInLife() {
			begun[i] = 1 / (1 + found)
		}
		return begun
	}
	last := len(lives) - 1
	over := func(i int) float64 { return math.Log(math.Max(lives[min(i, last)]-lives[last], 1e-15)) }
	for i, t := range l.Between {
		step, part := math.Modf(math.Log2(math.Max(t, 1)) * livesPerOctave)
		at := int(step)
		begun[i] = lives[last] + math.Exp(over(at)*(1-part)+over(at+1)*part)
	}
	begun[0] = 1
	return begun
}

// foundInLife returns, by grid position, how many repeats come in a life on average. A
// repeat comes with the probability 1-fresh; after its gap the rest of the life is a shorter
// one, which is interpolated. If that is still in the same step of the grid, it is a part of
// what is sought.
func (l *Load) foundInLife() []float64 {
	found := make([]float64, len(l.Between))
	const leastRepeats = 1e-6 // in place of 0, so that misses still have a mean
	repeats := math.Max(leastRepeats, 1-l.Fresh)
	for i, life := range l.Between {
		sum, same := 0.0, 0.0
		for _, w := range l.Bins {
			gap := math.Max(1, l.Between[w.At])
			if gap > life {
				break
			}
			share := w.Share * repeats
			at, _ := slices.BinarySearch(l.Between[:i], life-gap)
			if at == i {
				part := (life - gap - l.Between[i-1]) / (life - l.Between[i-1])
				sum += share * (1 + found[i-1]*(1-part))
				same += share * part
				continue
			}
			rest := found[at]
			if at > 0 {
				part := (life - gap - l.Between[at-1]) / (l.Between[at] - l.Between[at-1])
				rest = found[at-1] + part*(rest-found[at-1])
			}
			sum += share * (1 + rest)
		}
		found[i] = sum / (1 - same)
	}
	return found
}
