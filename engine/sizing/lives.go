// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"maps"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// Lives says how a stream uses a filter in which an element lives for a time, however often
// it comes again. Lives[i] is the share of the elements that begin a life of 2^(i/4)
// elements: the first sighting, and each one later than that after the last that began a
// life. It falls from 1 to the share of new elements. Gaps alone do not give it: elements that came
// often may go on to come often.
type Lives []float64

const (
	livesPerOctave = 4
	livesOctaves   = 40 // longer lives never end
)

// lifetimes are in elements.
var lifetimes = func() (all [livesOctaves*livesPerOctave + 1]uint64) {
	for i := range all {
		all[i] = uint64(math.Exp2(float64(i) / livesPerOctave))
	}
	return all
}()

// liveMeter counts the beginnings of lives of a sample of the elements, as [Tracker] counts
// repeats.
type liveMeter struct {
	limit     int
	shift     uint
	began     map[digest.Digest]*[len(lifetimes)]uint64 // positions
	sightings float64
	begun     [len(lifetimes)]float64
}

// add takes the next sighting of an element. Positions begin at 1.
func (m *liveMeter) add(d digest.Digest, position uint64) {
	if d[0]&(1<<m.shift-1) != 0 {
		return
	}
	weight := float64(uint64(1) << m.shift)
	m.sightings += weight
	began, found := m.began[d]
	if !found {
		began = new([len(lifetimes)]uint64)
		m.began[d] = began
	}
	for i, life := range lifetimes {
		if !found || position-began[i] > life {
			began[i] = position
			m.begun[i] += weight
		} else if life >= position {
			break // no longer life has ended
		}
	}
	for len(m.began) > m.limit && m.shift < 63 {
		m.shift++
		maps.DeleteFunc(m.began, func(d digest.Digest, _ *[len(lifetimes)]uint64) bool { return d[0]&(1<<m.shift-1) != 0 })
	}
}

// result returns the shares, nil if nothing was counted.
func (m *liveMeter) result() Lives {
	if m.sightings == 0 {
		return nil
	}
	all := slices.Clone(m.begun[:])
	for i := range all {
		all[i] /= m.sightings
	}
	return all
}

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
func (r *request) begun() []float64 {
	if r.lifeBegun == nil {
		r.lifeBegun = r.load.begun(r.Lives)
	}
	return r.lifeBegun
}

func (l *load) begun(lives Lives) []float64 {
	begun := make([]float64, len(l.between))
	if lives == nil {
		for i, found := range l.foundInLife() {
			begun[i] = 1 / (1 + found)
		}
		return begun
	}
	last := len(lives) - 1
	over := func(i int) float64 { return math.Log(math.Max(lives[min(i, last)]-lives[last], 1e-15)) }
	for i, t := range l.between {
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
func (l *load) foundInLife() []float64 {
	found := make([]float64, len(l.between))
	repeats := math.Max(leastRepeats, 1-l.fresh)
	for i, life := range l.between {
		sum, same := 0.0, 0.0
		for _, w := range l.bins {
			gap := math.Max(1, l.between[w.at])
			if gap > life {
				break
			}
			share := w.share * repeats
			at, _ := slices.BinarySearch(l.between[:i], life-gap)
			if at == i {
				part := (life - gap - l.between[i-1]) / (life - l.between[i-1])
				sum += share * (1 + found[i-1]*(1-part))
				same += share * part
				continue
			}
			rest := found[at]
			if at > 0 {
				part := (life - gap - l.between[at-1]) / (l.between[at] - l.between[at-1])
				rest = found[at-1] + part*(rest-found[at-1])
			}
			sum += share * (1 + rest)
		}
		found[i] = sum / (1 - same)
	}
	return found
}
