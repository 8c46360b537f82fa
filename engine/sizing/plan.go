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
	// Question is as asked, with its defaults filled in.
	Question Question
	// Window is the number of distinct elements in a window or, for an unbounded stream,
	// within the longest gap.
	Window float64
	// Candidates are in the order of the package documentation, the best first.
	Candidates []Candidate
	// Recommended is the first candidate, or nil if it does not meet the request.
	Recommended *Candidate

	request *Request
}

// Plan answers a question. Errors wrap [ErrQuestion]. It is no error if no candidate
// meets the request. Plan takes up to about two seconds, with curves some more.
func Plan(question Question) (Answer, error) {
	r, err := NewRequest(question)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Question: r.Question, Window: r.Window, request: r}
	for i := range methods {
		if m := &methods[i]; m.serves(&r.Question) {
			a.Candidates = append(a.Candidates, r.plan(m))
		}
	}
	if len(a.Candidates) == 0 {
		return Answer{}, impossible("no method answers for such elements in a window of kind %v", r.Kind)
	}
	slices.SortStableFunc(a.Candidates, r.ranking(a.Candidates))
	if a.Candidates[0].Meets {
		a.Recommended = &a.Candidates[0]
	}
	return a, nil
}

// plan finds a method's candidate.
func (r *Request) plan(m *Method) Candidate {
	quick := m.predictor(false)
	needed := r.Needed(quick)
	c := Candidate{Method: m, NeededBits: needed}
	bits := cmp.Or(r.MemoryBits, needed, maxSearched)
	// Without a memory the rate is the one that the memory is needed for.
	d, err := m.predictor(r.MemoryBits > 0)(r, bits)
	if err != nil {
		c.Why = "too little memory"
		if needed == 0 {
			c.Why = tooMuch()
		}
		return c
	}
	r.fill(&c, d)
	if r.Curves {
		c.Curve = r.curve(quick, bits)
	}
	return c
}

// tooMuch is the reason of methods that no memory is enough for.
func tooMuch() string { return fmt.Sprintf("needs > %d GiB", maxSearched>>33) }

// fill copies the predictions of a design.
func (r *Request) fill(c *Candidate, d Design) {
	c.Parameters, c.MemoryBits = d.Parameters, d.Bits
	c.FPR, c.FNR, c.Lines, c.EdgeError = d.FPR, d.FNR, d.Lines, d.Edge
	c.Remembered = r.Load.remembered(d.misses)
	if r.Kind != Unbounded {
		c.Remembered = math.Min(c.Remembered, r.Window)
	}
	c.Meets = d.FPR <= r.FPR && (r.MemoryBits != 0 || d.FNR <= r.FNR)
	switch {
	case c.Meets:
	case r.fillsUp(d):
		c.Why = "limit, never reached"
	case d.FPR > r.FPR:
		c.Why = "FPR too high"
	default:
		c.Why = tooMuch()
	}
}

// fillsUp reports whether a design in the end takes everything for seen. It approaches
// this ever more slowly, so streams of any length have lower rates of false positives,
// and more misses.
func (r *Request) fillsUp(d Design) bool {
	const all = 0.99
	return r.Kind == Unbounded && r.Load.Length == 0 && d.FPR >= all
}

// closeEnough is the ratio up to which values count as equal: the models are no more
// accurate.
const closeEnough = 1.05

// ranking returns the order of the package documentation.
func (r *Request) ranking(all []Candidate) func(a, b Candidate) int {
	lowest := 1.0
	for i := range all {
		if c := &all[i]; c.Meets && c.Method.rank != yardstick {
			lowest = math.Min(lowest, c.FNR)
		}
	}
	good := math.Max(r.FNR, closeEnough*lowest)
	return func(a, b Candidate) int {
		return cmp.Or(
			first(a.Meets, b.Meets),
			first(a.MemoryBits > 0, b.MemoryBits > 0),
			cmp.Compare(a.Method.rank, b.Method.rank),
			cmp.Compare(r.countedFPR(&a), r.countedFPR(&b)),
			cmp.Compare(math.Max(a.FNR, good), math.Max(b.FNR, good)),
			cmp.Compare(a.countedLines(), b.countedLines()),
			cmp.Compare(r.countedEdge(&a), r.countedEdge(&b)),
			cmp.Compare(r.memory(&a), r.memory(&b)),
			cmp.Compare(a.FPR, b.FPR),
		)
	}
}

// memory returns the memory to rank a candidate by: the least that is enough, or the
// memory in use if no memory is.
func (r *Request) memory(c *Candidate) int {
	return cmp.Or(c.NeededBits, c.MemoryBits)
}

// countedFPR returns the FPR to rank a candidate by. Rates within the bound are equal.
func (r *Request) countedFPR(c *Candidate) float64 { return math.Max(c.FPR, r.FPR) }

// countedLines returns the cache lines to rank a candidate by. Lines that less than a
// quarter of the elements touch do not count.
func (c *Candidate) countedLines() float64 { return math.Floor(c.Lines + 0.75) }

// countedEdge returns the edge error to rank a candidate by. Exact edges are worth
// available memory, but not more memory, unless others are off by more than a hundredth.
func (r *Request) countedEdge(c *Candidate) float64 {
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
