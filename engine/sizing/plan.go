// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Candidate is a method with its best design. There is none if its Bits are 0.
type Candidate struct {
	Method *Method
	Design
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
	// Curve holds designs over memory, if they were requested.
	Curve []Design
}

// BitsPerElement is the memory for each remembered element, or 0 if that has no meaning.
func (c *Candidate) BitsPerElement() float64 {
	if c.Remembered == 0 || math.IsInf(c.Remembered, 1) {
		return 0
	}
	return float64(c.Bits) / c.Remembered
}

// Answer is the result of [Plan].
type Answer struct {
	*Request // as asked, with its defaults filled in
	// Candidates are in the order of the package documentation, the best first.
	Candidates []Candidate
	// Recommended is the first candidate, or nil if it does not meet the request.
	Recommended *Candidate
}

// Plan answers a question. Errors wrap [ErrQuestion]. It is no error if no candidate
// meets the request. Plan takes up to about two seconds, with curves some more.
func Plan(question Question) (Answer, error) {
	r, err := NewRequest(question)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Request: r}
	for i := range methods {
		if m := &methods[i]; m.serves(&r.Question) {
			a.Candidates = append(a.Candidates, r.plan(m))
		}
	}
	if len(a.Candidates) == 0 {
		return Answer{}, impossible("no method answers for such elements in a window of kind %v", r.Kind)
	}
	r.sort(a.Candidates)
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

// fill judges a design.
func (r *Request) fill(c *Candidate, d Design) {
	c.Design = d
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

// sort sorts candidates in the order of the package documentation.
func (r *Request) sort(all []Candidate) {
	lowest := 1.0
	for i := range all {
		if c := &all[i]; c.Meets && c.Method.rank != yardstick {
			lowest = math.Min(lowest, c.FNR)
		}
	}
	good := math.Max(r.FNR, closeEnough*lowest)
	slices.SortStableFunc(all, func(a, b Candidate) int { return slices.Compare(r.order(&a, good), r.order(&b, good)) })
}

// The places of costs in order.
const (
	byLines = iota + 5
	byEdge
	byMemory
)

// order returns what a candidate is sorted by, the most important first. FNRs up to good are equal.
func (r *Request) order(c *Candidate, good float64) []float64 {
	flag := func(set bool) (n float64) {
		if set {
			n = 1
		}
		return n
	}
	edge := c.Edge
	if r.MemoryBits == 0 && edge <= 0.01 {
		edge = 0 // not worth more memory
	}
	return []float64{
		flag(!c.Meets), flag(c.Bits == 0), float64(c.Method.rank), math.Max(c.FPR, r.FPR), math.Max(c.FNR, good),
		math.Floor(c.Lines + 0.75), // lines that less than a quarter of the elements touch do not count
		edge,
		float64(cmp.Or(c.NeededBits, c.Bits)), // the least that is enough or, if none is, the memory in use
		c.FPR,
	}
}
