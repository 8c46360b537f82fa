// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"fmt"
	"math"
)

// Parameter is a parameter of a method for display: its name in the method's paper, and
// its value.
type Parameter struct {
	Name  string
	Value int
}

// design is a method with its parameters and the rates that they give.
type design struct {
	parameters []Parameter
	bits       int // memory in use
	fpr        float64
	misses     misses
	fnr        float64
	lines      float64 // cache lines that an element touches
	edge       float64 // share of a window by which it may be too long
}

// request is a complete question, with the values that models derive from it.
type request struct {
	Question
	load *load
	// anchored is the stream for windows that begin at the last sighting that was no
	// copy. It is nil if repeats renew the memory of their element.
	anchored *anchored
	// lifeBegun is computed once, when a method asks for it.
	lifeBegun []float64
	// window is the number of different elements that a window holds: all of a
	// landmark window, those within it at an instant of the others.
	window float64
}

const ipv4Addresses = 1 << 32

func newRequest(q Question) *request {
	r := &request{Question: q, load: newLoad(q.Distinct, q.Gaps)}
	if q.Kind == Unbounded && q.Length > 0 {
		r.load = newFiniteLoad(q.Distinct, q.Gaps, q.Length)
	}
	r.window = r.distinctIn(q.Elements)
	if q.Kind == Landmark {
		r.window = r.capIPv4(math.Max(1, q.Distinct*q.Elements))
	}
	if !q.Refresh && q.Kind != Landmark {
		r.anchored = newAnchored(&q)
	}
	return r
}

// distinctIn returns the number of distinct elements among the given number of elements.
func (r *request) distinctIn(elements float64) float64 {
	return r.capIPv4(distinctAmong(r.Distinct, r.Gaps, elements))
}

// capIPv4 caps a number at 2^32, the number of IPv4 addresses.
func (r *request) capIPv4(different float64) float64 {
	if r.Key == IPv4 {
		return math.Min(different, ipv4Addresses)
	}
	return different
}

// finish completes a design by its miss probabilities.
func (r *request) finish(d design, m misses) design {
	d.misses, d.fnr = m, r.load.fnr(m)
	return d
}

// inserted returns how many of the given elements a filter inserts, if it misses nothing:
// the different ones or, with windows that begin at an insertion, the elements that are
// no copies.
func (r *request) inserted(elements float64) float64 {
	if r.anchored == nil {
		return r.distinctIn(elements)
	}
	return r.capIPv4(r.anchored.insertions * elements)
}

// complete is finish for a design that misses nothing.
func (r *request) complete(d design) design {
	return r.finish(d, make(misses, len(r.load.between)))
}

// betterDesign reports whether a is better than b at the same memory. A design that keeps
// the bound on the FPR wins, then a design that misses less. If neither keeps the bound,
// the lower FPR wins.
func (r *request) betterDesign(a, b design) bool {
	keepsA, keepsB := a.fpr <= r.FPR, b.fpr <= r.FPR
	switch {
	case keepsA != keepsB:
		return keepsA
	case keepsA && a.fnr != b.fnr:
		return a.fnr < b.fnr
	case keepsA:
		return a.lines < b.lines
	}
	return a.fpr < b.fpr
}

// best keeps the best of several designs, or the first error if there is none.
type best struct {
	request *request
	design  design
	found   bool
	err     error
}

func (b *best) add(d design, err error) {
	switch {
	case err != nil:
		if b.err == nil {
			b.err = err
		}
	case !b.found || b.request.betterDesign(d, b.design):
		b.design, b.found = d, true
	}
}

func (b *best) result() (design, error) {
	if b.found {
		return b.design, nil
	}
	return design{}, b.err
}

// choices returns the values to try for a parameter: those from low to high, or the fixed
// one.
func choices(fixed, low, high int) []int {
	if fixed != 0 {
		low, high = fixed, fixed
	}
	var all []int
	for v := low; v <= high; v++ {
		all = append(all, v)
	}
	return all
}

// tooSmall is the error if memory is below a method's minimum, which detail describes.
func tooSmall(bits, least int, detail string, args ...any) error {
	return impossible("%s: %d bits of memory are too few, at least %d are needed", fmt.Sprintf(detail, args...), bits, least)
}

const (
	// maxSearched is the largest memory that is tried when the question is how much is
	// needed: 64 GiB.
	maxSearched = min(1<<39, math.MaxInt)
	// searchStep is the precision of the least memory.
	searchStep = 1.002
	// curvePoints are for each candidate.
	curvePoints = 21
)

// needed returns the least memory in which a model keeps both bounds, up to whole lines
// and 0.2 %, or 0 if none is enough.
func (r *request) needed(of model) (bits int) {
	used := 0
	enough := func(bits int) bool {
		d, err := of(r, bits)
		if err != nil || d.fpr > r.FPR || d.fnr > r.FNR {
			return false
		}
		used = d.bits
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
func (r *request) curve(of model, bits int) []Point {
	const span = 5 // powers of two on both sides
	var points []Point
	for i := range curvePoints {
		at := float64(bits) * math.Exp2(span*(2*float64(i)/(curvePoints-1)-1))
		if at < 1 || at > maxMemory {
			continue
		}
		if d, err := of(r, int(at)); err == nil {
			points = append(points, Point{MemoryBits: d.bits, FPR: d.fpr, FNR: d.fnr})
		}
	}
	return points
}
