// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"slices"

	"github.com/flowdedup/flowdedup/engine/window"
)

// Model finds the best design of a method in the given memory. Its errors wrap
// ErrQuestion.
type Model func(r *Request, bits int) (Design, error)

// Certainty is the accuracy of a predicted FPR.
type Certainty string

const (
	Exact Certainty = "exact" // for ideal hash functions
	Bound Certainty = "bound" // never more, whatever the stream
)

// Method describes a method that a command runs.
type Method struct {
	Name      string
	Title     string
	Source    string // where it comes from
	Certainty Certainty

	kinds []Kind
	keys  []Key
	rank  int // of the usual methods 0; see usual, measured, yardstick
	// fpr is the rate of a method whose rate does not depend on memory, or 0.
	fpr   float64
	model Model
}

// The ranks of methods.
const (
	usual     = iota
	measured  // it only serves comparison with the others
	yardstick // an exact map
)

var (
	slides  = []Kind{Sliding, Count}
	packets = []Key{Packets}
	others  = []Key{Other}
)

// methods lists all methods in the order of presentation.
var methods = []Method{
	{Name: "timed", Title: "timed rows", Source: "this project", Certainty: Bound,
		kinds: []Kind{Unbounded, Sliding, Count}, keys: packets, model: timedRows},
	{Name: "coarse", Title: "rows with coarse times", Source: "this project", Certainty: Bound,
		kinds: slides, keys: packets, fpr: window.CoarseFPR, model: coarseRows(false)},
	{Name: "fine", Title: "rows with coarse times and long fingerprints", Source: "this project", Certainty: Bound,
		kinds: slides, keys: packets, fpr: window.FineFPR, model: coarseRows(true)},
	{Name: "sliding-rows", Title: "rows of digests with dates", Source: "this project", Certainty: Exact,
		kinds: []Kind{Sliding}, keys: []Key{IPv4, Other}, model: slidingRows},
	{Name: "exact-rows", Title: "exact rows", Source: "this project", Certainty: Exact,
		kinds: []Kind{Landmark}, keys: []Key{IPv4}, model: exactRows},
	{Name: "digest-rows", Title: "rows of digests", Source: "this project", Certainty: Bound,
		kinds: []Kind{Landmark}, keys: others, model: digestRows},
	{Name: "bloom-lines", Title: "blocked Bloom filter", Source: "Putze, Sanders, Singler, JEA 2009", Certainty: Bound,
		kinds: []Kind{Landmark}, keys: others, model: bloomLines},
	{Name: "lru", Title: "LRU rows", Source: "this project", Certainty: Bound,
		kinds: []Kind{Unbounded}, keys: []Key{Packets, Other}, model: lruRows},
	{Name: "sbf", Title: "stable Bloom filter", Source: "Deng, Rafiei, SIGMOD 2006", Certainty: Bound,
		kinds: []Kind{Unbounded}, keys: packets, rank: measured, model: stableLines},
	{Name: "exact", Title: "map of digests", Source: "the yardstick", Certainty: Exact,
		kinds: []Kind{Landmark, Sliding, Count}, keys: []Key{Packets, IPv4, Other}, rank: yardstick, model: exactMap},
}

// serves reports whether the method can serve the window and the key, and the rate if the
// memory is open.
func (m *Method) serves(q *Question) bool {
	if m.fpr > q.FPR && q.MemoryBits == 0 {
		return false
	}
	return slices.Contains(m.kinds, q.Kind) && slices.Contains(m.keys, q.Key)
}
