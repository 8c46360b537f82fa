// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// PacketFilter finds the elements of a stream that are copies of earlier ones within a
// window. It is not safe for concurrent use.
type PacketFilter interface {
	// TestAndSet sets bit i of seen if element i is a copy, and remembers the elements as
	// the window demands. It clears the other bits of the words that cover len(d)
	// elements. Elements of one call may be copies of each other. Verdicts do not depend
	// on how a stream is cut into calls.
	//
	// d[i] is the digest of the packet's identity. times[i] is the packet's time in
	// nanoseconds since 1970 UTC, or math.MinInt64 if it has none. points[i] is its
	// capture point, which only filters across points read: points may be nil for the
	// others. The filter keeps no slice. It panics if a slice is too short.
	TestAndSet(seen []uint64, d []digest.Digest, times []int64, points []uint32)
	// Stats returns the statistics so far, in constant time.
	Stats() PacketStats
	// Close gives the filter's memory back; Stats still works.
	Close() error
}

// PacketStats describes a packet filter and its work so far.
type PacketStats struct {
	Method string // "timed", "exact", or another filter's name
	// MemoryBytes is the memory, in bytes, that remembers elements.
	MemoryBytes int
	// Fill is the share of the memory, 0 to 1, that elements within the window take. With
	// time windows it is an estimate as of the last elements. It is 0 where memory has no
	// bound.
	Fill float64
	// PredictedFPR bounds the probability that a packet without a twin is taken for a
	// copy.
	PredictedFPR float64
	// EdgeError bounds the excess length of windows, as a share of them. They are never
	// too short. It is 0 where windows are exact to a millionth.
	EdgeError float64
	// EvictedLive counts elements that were forgotten before their window ended, by the
	// time of the element that took their place. Copies of them may have been let
	// through.
	EvictedLive uint64
	// Late are the elements whose originals may have been forgotten before they came.
	Late LateStats
	// SuggestedMemory is the memory, in bytes, in which hardly any of these would have been
	// forgotten. It is 0 where hardly any were forgotten, and where no memory suffices.
	SuggestedMemory int
}

// LateStats describes elements that came late: time went back by more than the window, to
// a time whose elements the filter had forgotten. The filter kept them, whether they are
// copies or not. Filters that forget by the latest time count elements that are less
// late, too.
type LateStats struct {
	Elements uint64        // 0 if none came late; then the other fields are 0 too
	First    uint64        // number of the first late element, from 1
	By       time.Duration // how much earlier it was than the elements before it, about
	// SuggestedMemory is the memory, in bytes, in which nothing would have been forgotten.
	// It is 0 where memory does not help.
	SuggestedMemory int
}

// Counts is the result of a distinct counter.
type Counts struct {
	// Distinct is the best estimate of the number of distinct elements. Low and High
	// bound the true number with at least 95 % confidence. With exact methods all three
	// are equal.
	Distinct, Low, High uint64
	// MemoryBytes is the counter's present memory.
	MemoryBytes int
	// FPR is the probability that the counter takes a new element for a known element, at
	// the present fill. It is 0 for exact methods.
	FPR float64
	// Method is the name of the method.
	Method string
}

// Counter distinguishes first sightings from repeats, and counts them. K is uint32 for
// counters of IPv4 addresses, with the first octet in the top byte, and digest.Digest for
// all others. A counter is not safe for concurrent use.
type Counter[K any] interface {
	// TestAndSet sets bit i of seen if and only if keys[i] came before, in an earlier
	// call or earlier in keys, and remembers all keys. It clears the other bits of the
	// words that cover len(keys) elements, and panics if seen is shorter. Verdicts do not
	// depend on how the stream is cut into calls.
	TestAndSet(seen []uint64, keys []K)
	// Counts returns the counts after the last call.
	Counts() Counts
	// Close releases the memory. No method may be called afterwards.
	Close() error
}

// Sized is a Counter whose memory can be made ready before the first element.
type Sized interface {
	// MemoryFor returns the initial size, in bytes, of a counter of the same kind that
	// need not grow before it holds the given number of distinct elements.
	MemoryFor(elements uint64) int
	// Populate has the system back all memory now. Otherwise it does so page by page, at
	// the first use of each. A goroutine other than the counter's user may call it.
	Populate()
}

// Bounded is a Counter whose memory can be bounded. Where it may not grow any more, it
// counts a sample: every second element by a bit of its digest, then every fourth, and so
// on. It forgets the others, which makes room (Gibbons, Tirthapura, Estimating Simple
// Functions on the Union of Data Streams, SPAA 2001). From then on Low and High differ,
// by some tenths of a percent at 64 MiB, and elements that are not sampled count as seen.
type Bounded interface {
	// Limit bounds the size that rows may grow to, in bytes. Rows that are larger do not
	// shrink. A later call may allow more. Without a call the configuration's bound
	// holds, if any.
	Limit(bytes int)
	// Needs returns the size of the rows, in bytes, if they remembered the given number
	// of further elements and grew for them. For 0 it returns their size once the present
	// growth ends.
	Needs(more int) int
}

// DefaultFPR is the false positive rate of filters whose configuration has none: at most
// one new element of a billion is taken for a known element.
const DefaultFPR = 1e-9

// ErrConfig is wrapped by every error about an impossible configuration, of filters, counters
// and detectors.
var ErrConfig = errors.New("impossible configuration")

// Errors about windows, rates and memory have a kind of their own. Each wraps ErrConfig.
var (
	// ErrWindow is about windows.
	ErrWindow = Impossible("bad window")
	// ErrFPR is about false positive rates.
	ErrFPR = Impossible("false positive rate out of range")
	// ErrMemory is about too little memory, or too much.
	ErrMemory = Impossible("memory out of range")
)

// Impossible makes an error of a package that wraps ErrConfig, without its text.
func Impossible(text string) error { return &configError{text} }

type configError struct{ text string }

func (e *configError) Error() string { return e.text }
func (*configError) Unwrap() error   { return ErrConfig }
