// SPDX-License-Identifier: Apache-2.0

package models

import (
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/engine/sizing"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// A finite stream begins with an empty filter, and its first elements are new in any
// case. So its rates are means over its positions, on a grid of finiteSteps of them.

const (
	finiteSteps = 32
	// leastRoom bounds how much rarer the longest gaps are than in a stream without an end.
	leastRoom = 0.05
)

// outcome is the rates of a filter, and its misses by grid position at the end of the
// stream.
type outcome struct {
	FPR, FNR float64
	misses   Misses
}

// steady is the outcome of a steady state.
func steady(l *Load, r sizing.Rates) outcome {
	o := l.outcome(r.Misses())
	o.FPR = r.FPR
	return o
}

// outcome of misses in the steady state.
func (l *Load) outcome(m Misses) outcome { return outcome{FNR: l.FNR(m), misses: m} }

// finiteRun is a filter of bits along a finite stream.
type finiteRun struct {
	load    *Load
	k       int
	setting float64 // probability that a given insertion sets a bit
	// clearing returns the clearings of a bit for an element that is reported as
	// distinct, given the share of set bits.
	clearing func(set float64) float64
	// reservoir is the position from which on elements are inserted by chance: rsbf does
	// so whatever it reports. From replaced on it inserts the elements that it reports as
	// distinct, and clears a set bit for each bit that it sets. 0 stands for filters that
	// insert all elements reported as distinct.
	reservoir, replaced float64

	at      [finiteSteps + 1]float64 // positions
	cleared [finiteSteps + 1]float64 // clearings of a bit so far
	reports [finiteSteps + 1]float64 // share of elements that is reported as distinct
}

// rates runs the filter.
func (f *finiteRun) rates() outcome {
	l := f.load
	for i := range f.at { // dense where everything begins
		f.at[i] = l.stepAt(i)
	}
	f.reports[0] = 1
	unset := 1.0
	var news, repeats, wrong, missed, rate float64
	var result outcome
	for i := 1; i <= finiteSteps; i++ {
		step := f.at[i] - f.at[i-1]
		f.cleared[i] = f.cleared[i-1] + step*rate
		if i == 1 {
			f.cleared[1] = step * f.rate(1, 1, 0)
		}
		f.reports[i] = f.reports[i-1]
		replaces := f.at[i] > f.replaced && f.reservoir > 0
		if replaces {
			f.keepUnset(i, unset)
		}
		var clear Misses
		clear, unset = f.clear(i)
		set := 1 - unset
		fpr := math.Pow(set, float64(f.k))
		fresh, again, lost := 1.0, 0.0, 0.0
		for b, w := range l.Bins {
			if t := l.Between[w.At]; t < f.at[i] {
				fresh -= l.RepeatsAt[b]
				again += l.RepeatsAt[b]
				lost += l.RepeatsAt[b] * f.missed(i, t, clear[w.At], unset)
			}
		}
		fresh = math.Max(0, fresh) // but for rounding
		before := rate
		f.reports[i] = fresh*(1-fpr) + lost
		rate = f.rate(i, f.reports[i], set)
		if i > 1 && !replaces {
			f.cleared[i] = f.cleared[i-1] + step*(before+rate)/2
		}
		news, wrong = news+step*fresh, wrong+step*fresh*fpr
		repeats, missed = repeats+step*again, missed+step*lost
		if i == finiteSteps {
			result.misses = clear
			for j, t := range l.Between {
				result.misses[j] = f.missed(i, t, clear[j], unset)
			}
		}
	}
	result.FPR = math.Min(1, wrong/math.Max(news, math.SmallestNonzeroFloat64))
	if repeats > 0 {
		result.FNR = math.Min(1, missed/repeats)
	}
	return result
}

// insertion returns the probability that rsbf inserts an element at a position, whatever
// it reports.
func (f *finiteRun) insertion(position float64) float64 {
	if position >= f.replaced {
		return 1
	}
	return math.Min(1, f.reservoir/math.Max(1, position))
}

// insertions returns the integral of insertion up to a position.
func (f *finiteRun) insertions(position float64) float64 {
	byChance := math.Min(position, f.replaced)
	all := math.Min(byChance, f.reservoir)
	if byChance > f.reservoir {
		all += f.reservoir * math.Log(byChance/f.reservoir)
	}
	return all + position - byChance
}

// keepUnset chooses the clearings of a bit up to grid position i so that as many bits are
// clear as before: rsbf clears as many as it sets there.
func (f *finiteRun) keepUnset(i int, unset float64) {
	step := f.at[i] - f.at[i-1]
	theory.FallingRoot(math.Log(1e-6*f.setting), math.Log(1e3*f.setting), func(logRate float64) float64 {
		f.cleared[i] = f.cleared[i-1] + step*math.Exp(logRate)
		_, at := f.clear(i)
		return unset - at
	})
}

// rate returns the clearings of a bit for an element at grid position i.
func (f *finiteRun) rate(i int, reports, set float64) float64 {
	if f.reservoir > 0 {
		return f.insertion(f.at[i]) * f.setting
	}
	return f.clearing(set) * reports
}

// missed returns the probability that a repeat with the given number of elements in
// between is missed. If rsbf did not insert it then, its bits may have been set before
// that. Otherwise it finds the bits that a new element finds.
func (f *finiteRun) missed(i int, between, clear, unset float64) float64 {
	miss := func(clear float64) float64 { return -math.Expm1(float64(f.k) * math.Log1p(-math.Min(clear, 1-1e-16))) }
	if f.reservoir == 0 {
		return miss(clear)
	}
	position := f.at[i] - between
	left := (1 - f.insertion(position)) * f.load.interpolate(&f.reports, position, i)
	return (1-left)*miss(clear) + left*miss(unset)
}

// clear returns, by the gap's grid position, the probability that a bit of a returning
// element is clear at position i, and the probability for a new element.
func (f *finiteRun) clear(i int) (m Misses, unset float64) {
	l := f.load
	m = make(Misses, len(l.Between))
	sum, kept, cleared := 0.0, 1.0, 0.0
	now := f.at[i]
	for j, t := range l.Between {
		if t >= now || kept < 1e-12 {
			for ; j < len(m); j++ {
				m[j] = math.Min(1, sum+kept)
			}
			break
		}
		clearedBy := -math.Expm1(l.interpolate(&f.cleared, now-t, i) - f.cleared[i])
		keptSince := math.Exp(-f.setting * f.insertedIn(i, l.Different[j], t))
		sum += (kept - keptSince) * (cleared + clearedBy) / 2
		m[j] = math.Min(1, sum+keptSince*clearedBy)
		kept, cleared = keptSince, clearedBy
	}
	return m, math.Min(1, sum+kept)
}

// insertedIn returns how many of the different elements among the last ones were inserted.
// Each comes a geometric number of times.
func (f *finiteRun) insertedIn(i int, different, elements float64) float64 {
	if f.reservoir == 0 || elements == 0 {
		return different
	}
	chance, times := (f.insertions(f.at[i])-f.insertions(f.at[i]-elements))/elements, math.Max(1, elements/math.Max(different, 1e-9))
	return different * chance * times / (1 + chance*(times-1))
}

// stepAt returns grid position i of the stream.
func (l *Load) stepAt(i int) float64 {
	x := float64(i) / finiteSteps
	return l.Length * x * x
}

// interpolate returns a value at a position before grid position i.
func (l *Load) interpolate(values *[finiteSteps + 1]float64, position float64, i int) float64 {
	j := int(math.Sqrt(math.Max(0, position)/l.Length) * finiteSteps)
	j = min(j, i-1)
	part := (position - l.stepAt(j)) / (l.stepAt(j+1) - l.stepAt(j))
	return values[j] + part*(values[j+1]-values[j])
}

// fullRows returns the mean share of rows of the given number of cells that are full,
// along the stream, or 1 if the stream has no end.
func (l *Load) fullRows(rows float64, cells int) float64 {
	if l.Length == 0 {
		return 1
	}
	sum := 0.0
	for i := range finiteSteps {
		sum += rowMiss(l.DifferentIn(l.Length*(float64(i)+0.5)/finiteSteps), int(math.Max(1, rows)), cells)
	}
	return sum / finiteSteps
}

// DifferentIn interpolates D.
func (l *Load) DifferentIn(elements float64) float64 {
	at, found := slices.BinarySearch(l.Between, elements)
	switch {
	case found || at == 0:
		return l.Different[at]
	case at == len(l.Between):
		return l.Different[at-1]
	}
	part := (elements - l.Between[at-1]) / (l.Between[at] - l.Between[at-1])
	return l.Different[at-1] + part*(l.Different[at]-l.Different[at-1])
}

// GridAt returns the first grid position with at least the given number of elements in between.
func (l *Load) GridAt(elements float64) int {
	at, _ := slices.BinarySearch(l.Between, elements)
	return min(at, len(l.Between)-1)
}
