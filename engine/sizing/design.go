// SPDX-License-Identifier: Apache-2.0

package sizing

import "math"

// Design is a method with its parameters and the rates that they give.
type Design struct {
	Parameters map[string]int // by their names in the method's paper
	Bits       int            // memory in use
	FPR, FNR   float64
	Lines      float64 // cache lines that an element touches
	Edge       float64 // share of a window by which it may be too long

	misses Misses
}

// Request is a complete question, with the values that models derive from it.
type Request struct {
	Question
	Load *Load
	// anchored is the stream for windows that begin at the last sighting that was no
	// copy. It is nil if repeats renew the memory of their element.
	anchored *anchored
	// Window is the number of different elements that a window holds: all of a
	// landmark window, else the elements within the window at an instant.
	Window float64
}

const ipv4Addresses = 1 << 32

// NewRequest completes a question. Errors wrap [ErrQuestion].
func NewRequest(q Question) (*Request, error) {
	q, err := q.complete()
	if err != nil {
		return nil, err
	}
	r := &Request{Question: q, Load: newLoad(q.Distinct, q.Gaps)}
	if q.Kind == Unbounded && q.Length > 0 {
		r.Load = newFiniteLoad(q.Distinct, q.Gaps, q.Length)
	}
	r.Window = r.DistinctIn(q.Elements)
	if q.Kind == Landmark {
		r.Window = r.capIPv4(math.Max(1, q.Distinct*q.Elements))
	}
	if !q.Refresh && q.Kind != Landmark {
		r.anchored = newAnchored(&q)
	}
	return r, nil
}

// DistinctIn returns the number of distinct elements among the given number of elements.
func (r *Request) DistinctIn(elements float64) float64 {
	return r.capIPv4(distinctAmong(r.Distinct, r.Gaps, elements))
}

// capIPv4 caps a number at 2^32, the number of IPv4 addresses.
func (r *Request) capIPv4(different float64) float64 {
	if r.Key == IPv4 {
		return math.Min(different, ipv4Addresses)
	}
	return different
}

// Finish completes a design by its miss probabilities.
func (r *Request) Finish(d Design, m Misses) Design {
	d.misses, d.FNR = m, r.Load.FNR(m)
	return d
}

// Inserted returns how many of the given elements a filter inserts, if it misses nothing:
// the different ones or, with windows that begin at an insertion, the elements that are
// no copies.
func (r *Request) Inserted(elements float64) float64 {
	if r.anchored == nil {
		return r.DistinctIn(elements)
	}
	return r.capIPv4(r.anchored.insertions * elements)
}

// Complete is Finish for a design that misses nothing.
func (r *Request) Complete(d Design) Design {
	return r.Finish(d, make(Misses, len(r.Load.Between)))
}

// Better reports whether a is better than b at the same memory. A design that keeps
// the bound on the FPR wins, then a design that misses less. If neither keeps the bound,
// the lower FPR wins.
func (r *Request) Better(a, b Design) bool {
	keepsA, keepsB := a.FPR <= r.FPR, b.FPR <= r.FPR
	switch {
	case keepsA != keepsB:
		return keepsA
	case keepsA && a.FNR != b.FNR:
		return a.FNR < b.FNR
	case keepsA:
		return a.Lines < b.Lines
	}
	return a.FPR < b.FPR
}

// errMemory is the error of models whose method needs more memory.
var errMemory = impossible("too little memory")

const (
	// maxSearched is the largest memory that is tried when the question is how much is
	// needed: 64 GiB.
	maxSearched = min(1<<39, math.MaxInt)
	// searchStep is the precision of the least memory.
	searchStep = 1.002
	// curvePoints are for each candidate.
	curvePoints = 21
)

// Needed returns the least memory in which a model keeps both bounds, up to whole lines
// and 0.2 %, or 0 if none is enough.
func (r *Request) Needed(of Model) (bits int) {
	used := 0
	enough := func(bits int) bool {
		d, err := of(r, bits)
		if err != nil || d.FPR > r.FPR || d.FNR > r.FNR {
			return false
		}
		used = d.Bits
		return true
	}
	high := lineBits
	for !enough(high) {
		if high >= maxSearched {
			return 0
		}
		high = min(8*high, maxSearched)
	}
	low := high / 8
	for float64(high) > float64(low)*searchStep && high-low > lineBits {
		middle := int(math.Sqrt(float64(low)*float64(high))) / lineBits * lineBits
		middle = min(max(middle, low+lineBits), high-lineBits)
		if middle <= low || middle >= high {
			break
		}
		if enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return used
}

// curve evaluates a model from a 32nd of the memory to 32 times as much.
func (r *Request) curve(of Model, bits int) []Design {
	const span = 5 // powers of two on both sides
	var points []Design
	for i := range curvePoints {
		at := float64(bits) * math.Exp2(span*(2*float64(i)/(curvePoints-1)-1))
		if at < 1 || at > maxMemory {
			continue
		}
		if d, err := of(r, int(at)); err == nil {
			points = append(points, d)
		}
	}
	return points
}
