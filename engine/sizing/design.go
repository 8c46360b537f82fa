package sizing

import (
	"fmt"
	"math"
)

// Parameter is a parameter of a method, for people: its name in the method's paper
// and its value.
type Parameter struct {
	Name  string
	Value int
}

// design is a method with its parameters and what they lead to.
type design struct {
	parameters []Parameter
	bits       int // memory in use
	fpr        float64
	misses     misses
	fnr        float64
	lines      float64 // cache lines that an element touches
}

// request is a question that is complete, with what models derive from it.
type request struct {
	Question
	load *load
	// window is the number of different elements that a window holds: all of a
	// landmark window, those within it at an instant of the others.
	window float64
}

const ipv4Addresses = 1 << 32

func newRequest(q Question) *request {
	r := &request{Question: q, load: newLoad(q.Distinct, q.Gaps)}
	r.window = r.distinctIn(q.Elements)
	if q.Kind == Landmark {
		r.window = r.capIPv4(math.Max(1, q.Distinct*q.Elements))
	}
	return r
}

// distinctIn returns the number of different elements among so many.
func (r *request) distinctIn(elements float64) float64 {
	return r.capIPv4(distinctAmong(r.Distinct, r.Gaps, elements))
}

// capIPv4 takes into account that there are no more than 2^32 IPv4 addresses.
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

// complete is finish for a design that misses nothing.
func (r *request) complete(d design) design {
	return r.finish(d, make(misses, len(r.load.between)))
}

// betterDesign tells whether a is preferable to b at the same memory: the one that keeps
// the bound on the FPR, then the one that misses less, or, if neither keeps it, the
// lower FPR.
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

// best keeps the best of several designs, and why there is none.
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

// choices returns the values from low to high to try for a parameter, or the one
// that is fixed.
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

// tooSmall is the error of a memory that does not hold what a method needs. detail
// says what that is.
func tooSmall(bits, least int, detail string, args ...any) error {
	return impossible("%s: %d bits of memory are too few, at least %d are needed", fmt.Sprintf(detail, args...), bits, least)
}
