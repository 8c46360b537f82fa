// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Candidate is a method with its best parameters.
type Candidate struct {
	Method     *Method
	Parameters []Parameter
	// Runs is the result of the question's Runs for it.
	Runs       bool
	MemoryBits int // in use; 0 if there is no design at all
	FPR, FNR   float64
	// Lines is the number of cache lines that an element touches.
	Lines float64
	// EdgeError bounds by which share of it a window may be too long.
	EdgeError float64
	// Remembered is the number of distinct elements that the method remembers: the
	// elements of a window or, in an unbounded stream, the elements that may come in
	// between until half of the repeats are missed. It is +Inf if the method never
	// forgets.
	Remembered float64
	// NeededBits is the least memory with which the method keeps both bounds, or 0 if
	// none does.
	NeededBits int
	// Meets reports whether the candidate meets the request; Why is the reason if it does
	// not.
	Meets bool
	Why   string
	// Curve holds the rates over memory, if they were requested.
	Curve []Point
}

// BitsPerElement is the memory for each remembered element, or 0 if that has no meaning.
func (c *Candidate) BitsPerElement() float64 {
	if c.Remembered == 0 || math.IsInf(c.Remembered, 1) {
		return 0
	}
	return float64(c.MemoryBits) / c.Remembered
}

// Point is a point of a curve.
type Point struct {
	MemoryBits int
	FPR, FNR   float64
}

// Answer is the result of [Plan].
type Answer struct {
	// Question is the one asked, with its defaults filled in.
	Question Question
	// Window is the number of distinct elements in a window or, for an unbounded stream,
	// within the longest gap.
	Window float64
	// Candidates are in the order of the package documentation, the best first.
	Candidates []Candidate
	// Recommended is the first candidate, or nil if it does not meet the request.
	Recommended *Candidate

	request *request
}

// Plan answers a question. Errors wrap [ErrQuestion]. It is no error if no candidate
// meets the request, but it is one if Method is set and no such filter fits the memory.
// Plan takes up to about two seconds, with curves some more.
func Plan(question Question) (Answer, error) {
	q, err := question.complete()
	if err != nil {
		return Answer{}, err
	}
	chosen, err := candidates(&q)
	if err != nil {
		return Answer{}, err
	}
	r := newRequest(q)
	a := Answer{Question: q, Window: r.window, request: r}
	for _, m := range chosen {
		c, err := r.plan(m)
		if err != nil && q.Method != "" {
			return Answer{}, err
		}
		a.Candidates = append(a.Candidates, c)
	}
	if len(a.Candidates) == 0 {
		return Answer{}, impossible("no method answers for a window of kind %v", q.Kind)
	}
	if q.Method == "" {
		a.Candidates = r.worthShowing(a.Candidates)
	}
	slices.SortStableFunc(a.Candidates, r.ranking(a.Candidates))
	if a.Candidates[0].Meets {
		a.Recommended = &a.Candidates[0]
	}
	return a, nil
}

// plan finds a method's candidate. It returns an error if there is no design at all.
func (r *request) plan(m *Method) (Candidate, error) {
	of, needed := m.model, r.needed(m.model)
	c := Candidate{Method: m, NeededBits: needed}
	bits := cmp.Or(r.MemoryBits, needed, maxSearched)
	d, err := of(r, bits)
	if err != nil {
		c.Why = "too little memory"
		if needed == 0 {
			c.Why = fmt.Sprintf("needs > %d GiB", maxSearched>>33)
		}
		return c, err
	}
	r.fill(&c, d)
	c.Runs = r.Runs(&c)
	if r.Curves {
		c.Curve = r.curve(of, bits)
	}
	return c, nil
}

// fill copies the predictions of a design.
func (r *request) fill(c *Candidate, d design) {
	c.Parameters, c.MemoryBits = d.parameters, d.bits
	c.FPR, c.FNR, c.Lines, c.EdgeError = d.fpr, d.fnr, d.lines, d.edge
	c.Remembered = r.load.remembered(d.misses)
	if r.Kind != Unbounded {
		c.Remembered = math.Min(c.Remembered, r.window)
	}
	c.Meets = d.fpr <= r.FPR && (r.MemoryBits != 0 || d.fnr <= r.FNR)
	switch {
	case c.Meets:
	case r.fillsUp(d):
		c.Why = "limit, never reached"
	case d.fpr > r.FPR:
		c.Why = "FPR too high"
	default:
		c.Why = fmt.Sprintf("needs > %d GiB", maxSearched>>33)
	}
}

// fillsUp reports whether a design in the end takes everything for seen. It approaches
// this ever more slowly, so streams of any length have lower rates of false positives,
// and more misses.
func (r *request) fillsUp(d design) bool {
	const all = 0.99
	return r.Kind == Unbounded && r.load.length == 0 && d.fpr >= all
}

// worthShowing removes the forms of methods that are not better than the engine's.
func (r *request) worthShowing(all []Candidate) []Candidate {
	return slices.DeleteFunc(all, func(c Candidate) bool {
		i := slices.IndexFunc(all, func(other Candidate) bool { return other.Method.Name == c.Method.betterThan })
		return i >= 0 && !r.better(&c, &all[i])
	})
}

// better reports whether c is better than other by more than the accuracy of the models:
// only c meets the request, or c misses less or, with hardly any misses, needs less
// memory.
func (r *request) better(c, other *Candidate) bool {
	switch {
	case !c.Meets || !other.Meets:
		return c.Meets
	case other.FNR > r.FNR:
		return closeEnough*c.FNR < other.FNR
	}
	return closeEnough*float64(r.memory(c)) < float64(r.memory(other))
}

// closeEnough is the ratio up to which values count as equal: the models are no more
// accurate.
const closeEnough = 1.05

// ranking returns the order of the package documentation.
func (r *request) ranking(all []Candidate) func(a, b Candidate) int {
	lowest := 1.0
	for i := range all {
		if c := &all[i]; c.Meets && !c.Method.yardstick {
			lowest = math.Min(lowest, c.FNR)
		}
	}
	good := math.Max(r.FNR, closeEnough*lowest)
	return func(a, b Candidate) int {
		return cmp.Or(
			first(a.Meets, b.Meets),
			first(a.Runs, b.Runs),
			first(a.MemoryBits > 0, b.MemoryBits > 0),
			first(!a.Method.yardstick, !b.Method.yardstick),
			first(a.Method.Engine != "", b.Method.Engine != ""),
			first(!a.Method.measured, !b.Method.measured),
			cmp.Compare(r.countedFPR(&a), r.countedFPR(&b)),
			cmp.Compare(math.Max(a.FNR, good), math.Max(b.FNR, good)),
			cmp.Compare(a.countedLines(), b.countedLines()),
			cmp.Compare(r.countedEdge(&a), r.countedEdge(&b)),
			cmp.Compare(r.memory(&a), r.memory(&b)),
			cmp.Compare(a.FPR, b.FPR),
		)
	}
}

// memory returns the memory to rank a candidate by: the least sufficient one, or the
// memory in use if none suffices.
func (r *request) memory(c *Candidate) int {
	return cmp.Or(c.NeededBits, c.MemoryBits)
}

// countedFPR returns the FPR to rank a candidate by. Rates within the bound are equal.
func (r *request) countedFPR(c *Candidate) float64 { return math.Max(c.FPR, r.FPR) }

// countedLines returns the cache lines to rank a candidate by. Lines that fewer than one
// element in four touches do not count.
func (c *Candidate) countedLines() float64 { return math.Floor(c.Lines + 0.75) }

// countedEdge returns the edge error to rank a candidate by. Exact edges are worth
// available memory, but not more memory, unless others are off by more than a hundredth.
func (r *request) countedEdge(c *Candidate) float64 {
	if r.MemoryBits == 0 && c.EdgeError <= 0.01 {
		return 0
	}
	return c.EdgeError
}

// first sorts true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
