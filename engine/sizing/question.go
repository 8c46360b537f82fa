// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// ErrQuestion is wrapped by every error of this package: the question has no answer. The
// text says which value is wrong, why, and the nearest valid values.
var ErrQuestion = errors.New("impossible request")

// Kind is a kind of window: the earlier elements that count for a repeat.
type Kind int

const (
	// Unbounded is all of the stream, as far as constant memory goes: recent
	// elements are remembered, old ones forgotten.
	Unbounded Kind = iota
	// Landmark is everything since the window began; it starts again at each
	// boundary.
	Landmark
	// Sliding is a time span that ends now, at every instant. Elements is the number in
	// it at the stream's highest rate.
	Sliding
	// Count is the last Elements elements.
	Count
)

var kindNames = [...]string{"unbounded", "landmark", "sliding", "count"}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("kind %d", int(k))
	}
	return kindNames[k]
}

// Key is the type of the elements.
type Key int

const (
	Packets Key = iota // identities of packets, by digest
	IPv4               // IPv4 addresses: there are 2^32
	Other              // all others, by digest
)

// Defaults of a [Question].
const (
	defaultFPR = 1e-9
	defaultFNR = 1e-4
	// defaultHorizon is the default longest gap of an unbounded stream.
	defaultHorizon = 1 << 24
)

// Question describes a stream and the request.
type Question struct {
	Kind Kind
	// Elements is the number of elements, repeats included, in the window, from 1 to
	// 2^60. For an unbounded stream it is the longest gap of repeats, and 0 stands for
	// 2^24. Gaps replace it.
	Elements float64
	// Distinct is the share of elements that are new, above 0 and at most 1; 0
	// stands for 1, the worst case.
	Distinct float64
	// Different is the number of distinct elements among Elements consecutive elements.
	// Where it is set, Distinct and Gaps follow from it. Given Gaps stay
	// if a share of new elements fits them; else repeats come from a population of equally
	// frequent elements.
	Different float64
	// Gaps is the distribution of the distances of repeats, in elements. nil stands for
	// uniform gaps over a window, and for log-uniform gaps over an unbounded stream (nearly
	// the gaps of the web crawl in Deng, Rafiei, SIGMOD 2006).
	Gaps Gaps
	// Sample is a part of the stream, whose misses replace the model's. nil stands for gaps that
	// are independent of each other.
	Sample *Sample
	// Length is the number of elements of the stream in which Distinct and Gaps were
	// counted. In an unbounded stream rates are means over it. If it is 0, the stream has
	// no end, and rates are those of the steady state. The rates of windows assume
	// that the stream goes on.
	Length float64
	Key    Key
	// Refresh means that repeats renew the memory of their element. Without it a window
	// begins at the last sighting that was no copy. Filters without a window, and of
	// keys, always renew.
	Refresh bool

	// MemoryBits is the available memory, at most 2^46 bits; 0 asks how much is needed.
	MemoryBits int
	FPR        float64 // bound, between 0 and 1; 0 stands for 1e-9
	// FNR is the bound below which misses do not matter, between 0 and 1; 0 stands for
	// 1e-4. If the question asks for the memory, the memory must keep it. Otherwise
	// methods below it count as equal.
	FNR float64

	Curves bool // add the rates over memory

	turns float64 // how often a member of a fixed population comes in a window, else 0
}

const (
	maxElements = 1 << 60
	maxMemory   = min(1<<46, math.MaxInt)
)

// complete sets the defaults of the question and checks it.
func (q Question) complete() (Question, error) {
	q.fill()
	if err := q.check(); err != nil {
		return q, err
	}
	if q.Length > 0 && q.Gaps != nil && q.Kind != Unbounded && q.Kind != Landmark {
		q.Distinct, q.Gaps = Endless(q.Distinct, q.Gaps, q.Length)
	}
	if q.Different > 0 {
		q.fitDifferent()
	}
	if q.Gaps == nil {
		q.Gaps = uniformGaps(q.Elements)
		if q.Kind == Unbounded {
			q.Gaps = logGaps(q.Elements)
		}
	}
	return q, q.Gaps.check(q)
}

func (q *Question) fill() {
	if q.Kind == Unbounded {
		q.Elements = cmp.Or(q.Elements, defaultHorizon)
	}
	q.Distinct, q.FPR, q.FNR = cmp.Or(q.Distinct, 1), cmp.Or(q.FPR, defaultFPR), cmp.Or(q.FNR, defaultFNR)
	q.Refresh = q.Refresh || q.Kind == Unbounded || q.Key != Packets
}

func (q *Question) check() error {
	switch {
	case q.Kind < Unbounded || q.Kind > Count:
		return impossible("%v is no window, must be from %d to %d", q.Kind, Unbounded, Count)
	case q.Key < Packets || q.Key > Other:
		return impossible("key %d, must be from %d to %d", q.Key, Packets, Other)
	case !(q.Elements >= 1 && q.Elements <= maxElements):
		return impossible("%v elements in the window, must be from 1 to 2^60", q.Elements)
	case !(q.Distinct > 0 && q.Distinct <= 1):
		return impossible("share of new elements is %v, must be above 0 and at most 1", q.Distinct)
	case !(q.Different >= 0 && q.Different <= q.Elements):
		return impossible("%.10g different elements among %.10g, must be at most as many", q.Different, q.Elements)
	case !(q.Length >= 0 && q.Length <= maxElements):
		return impossible("stream of %v elements, must be from 1 to 2^60, or 0 for one without an end", q.Length)
	case !(q.FPR > 0 && q.FPR < 1):
		return impossible("false positive rate is %v, must be between 0 and 1", q.FPR)
	case !(q.FNR > 0 && q.FNR < 1):
		return impossible("false negative rate is %v, must be between 0 and 1", q.FNR)
	case q.MemoryBits < 0 || q.MemoryBits > maxMemory:
		return impossible("memory is %d bits, must be from 1 to 2^46, or 0 to ask for it", q.MemoryBits)
	}
	return nil
}

// impossible returns an error that wraps [ErrQuestion].
func impossible(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrQuestion}, args...)...)
}
