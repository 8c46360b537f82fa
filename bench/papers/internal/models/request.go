// SPDX-License-Identifier: Apache-2.0

package models

import (
	"errors"
	"fmt"

	"github.com/flowdedup/flowdedup/engine/sizing"
)

// A design is one of package sizing.
type (
	Design = sizing.Design
	Misses = sizing.Misses
)

// Jumping is a window of the last Parts parts of time or of the stream. It advances by one part.
const Jumping = sizing.Count + 1

// DefaultParts is what Parts of 0 stand for.
const DefaultParts = 8

const (
	maxParts = 254 // b-bit counters of a part, b at most 8
	lineBits = 512
)

// Parameters fixes parameters of a method. A method chooses parameters that are 0.
type Parameters struct {
	K        int // hash functions
	P        int // cells that an element decrements
	Cells    int // cells of a row
	CellBits int // bits of a cell
}

// Question is a question of package sizing about one of the methods.
type Question struct {
	sizing.Question        // Kind may be Jumping
	Method          string // "" for all
	Fixed           Parameters
	Parts           int // of a jumping window, from 2 to 254; 0 stands for DefaultParts
	// Lives are measured along with Gaps in an unbounded stream, for the methods in which an
	// element lives for a time. nil stands for gaps that are independent of each other.
	Lives Lives
}

// Load is a load of package sizing. Far from the begin of a stream with an end SteadyFresh is the share
// of new elements, and RepeatsAt the share of repeats with the gaps of a bin.
type Load struct {
	*sizing.Load
	SteadyFresh float64
	RepeatsAt   []float64
}

func newLoad(r *sizing.Request) *Load {
	l, gaps := &Load{Load: r.Load, SteadyFresh: r.Distinct}, r.Gaps
	if l.Length > 0 {
		l.SteadyFresh, gaps = sizing.Endless(r.Distinct, r.Gaps, l.Length)
	}
	for _, b := range gaps {
		l.RepeatsAt = append(l.RepeatsAt, b.Share*(1-l.SteadyFresh))
	}
	return l
}

// Request is a complete question.
type Request struct {
	*sizing.Request
	Load  *Load
	Kind  sizing.Kind // may be Jumping
	Fixed Parameters
	Parts int
	Lives Lives
	// lifeBegun is computed once, when a method asks for it.
	lifeBegun []float64
}

// newRequest completes a question. Errors wrap [sizing.ErrQuestion].
func newRequest(q Question) (*Request, error) {
	if q.Parts == 0 {
		q.Parts = DefaultParts
	}
	if q.Parts < 2 || q.Parts > maxParts {
		return nil, impossible("%d parts of a jumping window, must be from 2 to %d", q.Parts, maxParts)
	}
	kind := q.Kind
	if kind == Jumping { // as one that slides, which finds all that it finds
		q.Kind = sizing.Sliding
	}
	of, err := sizing.NewRequest(q.Question)
	if err = errors.Join(err, q.Lives.check()); err != nil {
		return nil, err
	}
	return &Request{Request: of, Load: newLoad(of), Kind: kind, Fixed: q.Fixed, Parts: q.Parts, Lives: q.Lives}, nil
}

// Candidate is a method with its best parameters.
type Candidate struct {
	Method *Method
	Design
	// NeededBits is the least memory with which the method keeps both bounds, or 0 if
	// none does.
	NeededBits int
	Why        string // why it does not meet the request, "" if it does
}

// Plan returns the predictions for the question's method, or for all that can express its window.
// Errors wrap [sizing.ErrQuestion].
func Plan(q Question) ([]Candidate, error) {
	chosen, err := candidates(&q)
	if err != nil {
		return nil, err
	}
	r, err := newRequest(q)
	if err != nil {
		return nil, err
	}
	var all []Candidate
	for _, m := range chosen {
		c, err := r.plan(m)
		if err != nil && q.Method != "" {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// plan finds a method's candidate. It returns an error if there is no design at all.
func (r *Request) plan(m *Method) (Candidate, error) {
	const most = 1 << 39 // bits to try
	c := Candidate{Method: m, NeededBits: r.Needed(func(_ *sizing.Request, bits int) (Design, error) { return m.model(r, bits) })}
	bits := r.MemoryBits
	if bits == 0 {
		bits = c.NeededBits
	}
	if bits == 0 {
		bits = most
	}
	var err error
	if c.Design, err = m.model(r, bits); err != nil {
		c.Why = "too little memory"
		return c, err
	}
	switch {
	case c.FPR <= r.FPR && (r.MemoryBits != 0 || c.FNR <= r.FNR):
	case r.fillsUp(c.Design):
		c.Why = "limit, never reached"
	case c.FPR > r.FPR:
		c.Why = "FPR too high"
	default:
		c.Why = "needs more memory"
	}
	return c, nil
}

// fillsUp reports whether a design in the end takes everything for seen. It approaches
// this ever more slowly, so streams of any length have lower rates of false positives,
// and more misses.
func (r *Request) fillsUp(d Design) bool {
	const all = 0.99
	return r.Kind == sizing.Unbounded && r.Load.Length == 0 && d.FPR >= all
}

// best keeps the best of several designs, or the first error if there is none.
type best struct {
	request *Request
	design  Design
	found   bool
	err     error
}

func (b *best) add(d Design, err error) {
	switch {
	case err != nil:
		if b.err == nil {
			b.err = err
		}
	case !b.found || b.request.Better(d, b.design):
		b.design, b.found = d, true
	}
}

func (b *best) result() (Design, error) {
	if b.found {
		return b.design, nil
	}
	return Design{}, b.err
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

// impossible returns an error that wraps [sizing.ErrQuestion].
func impossible(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{sizing.ErrQuestion}, args...)...)
}
