package engine

import (
	"errors"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// PacketFilter tells which elements of a stream are copies of earlier ones,
// within a window. It serves one goroutine at a time.
type PacketFilter interface {
	// TestAndSet sets bit i of seen if element i is a copy, clears the bits of
	// the others in the words that cover len(d) elements, and remembers the
	// elements as the window demands. Elements of one call are copies of each
	// other too; how a stream is cut into calls makes no difference.
	//
	// d[i] is the digest of what makes two packets the same, times[i] the
	// packet's time in nanoseconds or math.MinInt64 if it has none, points[i]
	// where it was seen, which only filters across points read. Nothing is
	// kept of the slices. It panics if one of them is too short.
	TestAndSet(seen []uint64, d []digest.Digest, times []int64, points []uint32)
	// Stats returns what the filter did so far.
	Stats() PacketStats
	// Close gives the filter's memory back; Stats still works.
	Close() error
}

// PacketStats describes a packet filter and its work so far.
type PacketStats struct {
	Method string // "timed", "exact", or what another filter calls itself
	// MemoryBytes is the size of what remembers elements.
	MemoryBytes int
	// Fill is the share of the memory that elements take which are still within the
	// window, 0 to 1; estimated with time windows, as of the last elements. It is 0
	// where memory has no bound.
	Fill float64
	// PredictedFPR bounds the probability that a packet without a twin is
	// taken for a copy.
	PredictedFPR float64
	// EvictedLive counts remembered elements that were forgotten before
	// their window ended, as the element had it that took their place. Copies
	// of them may have been let through.
	EvictedLive uint64
	// Late are those that came after what they may be copies of was forgotten.
	Late LateStats
	// SuggestedMemory is how many bytes would have been enough to forget none
	// of them; 0 where EvictedLive is 0, and where no memory is enough.
	SuggestedMemory int
}

// LateStats describes elements that came late: time went back by more than the window to
// before what a filter had forgotten, so they were kept whether they are copies or not.
type LateStats struct {
	Elements uint64        // 0 without any; then the others are 0 too
	First    uint64        // the number of the first of them, from 1
	By       time.Duration // how far it lay behind the elements before it, about
	// SuggestedMemory is how many bytes would have been enough to forget nothing.
	SuggestedMemory int
}

// Counts is what a distinct counter knows about its stream.
type Counts struct {
	// Distinct is the best estimate of the number of distinct elements; Low and
	// High bound the true number with at least 95 % confidence. Exact methods
	// have all three equal.
	Distinct, Low, High uint64
	// MemoryBytes is what the counter holds now.
	MemoryBytes int
	// FPR is the probability that a new element is taken for one seen before,
	// at the present fill; 0 for exact methods.
	FPR float64
	// Method is the name of the method.
	Method string
}

// Counter tells first sightings from repeats, and counts them. IPv4Rows and RoaringIPv4
// are counters of IPv4 addresses (K is uint32, the first octet in the top
// byte), ScalableBloom, DigestRows and DigestMap of digests (K is digest.Digest). A counter is not safe
// for concurrent use.
type Counter[K any] interface {
	// TestAndSet sets bit i of seen if and only if keys[i] came before, in an
	// earlier call or earlier in keys, and remembers all keys. The other bits
	// of the words that len(keys) elements cover are cleared. It panics if seen
	// holds fewer bits than there are keys. Verdicts do not depend on how the
	// stream is cut into calls.
	TestAndSet(seen []uint64, keys []K)
	// Counts returns what is known after the last call.
	Counts() Counts
	// Close releases the memory. Nothing may be called afterwards.
	Close() error
}

// Sized is a Counter in memory that can be made ready before the first element.
type Sized interface {
	// MemoryFor returns what another counter of its kind is to start with so that it
	// need not grow before it holds so many distinct elements, in bytes.
	MemoryFor(elements uint64) int
	// Populate has the system hand over all memory now, which it otherwise does a page
	// at a time when they are first used. It may be called by another goroutine than the
	// one that goes on with the counter.
	Populate()
}

// Bounded is a Counter whose memory can be bounded. Where it may not grow any more, it counts a
// sample: every second element by a bit of its digest, every fourth, and so on, and what it no longer
// has to remember makes room (Gibbons, Tirthapura, Estimating Simple Functions on the Union
// of Data Streams, SPAA 2001). Low and High are apart from then on, by some tenths of a percent
// at 64 MiB, and elements that are not sampled count as seen.
type Bounded interface {
	// Limit has the counter grow no further than to so many bytes of rows. They do not
	// shrink for it. A later call may allow more. Without a call there is no bound, or that of
	// Config.
	Limit(bytes int)
	// Needs returns what the rows take when they remember so many elements more and may grow
	// for them, in bytes; for 0 that is what they take when they are done with growing.
	Needs(more int) int
}

// DefaultFPR is the false positive rate of filters that are asked for none: they take one of a
// billion distinct elements for one seen before at most.
const DefaultFPR = 1e-9

// What errors about the configuration of filters wrap.
var (
	// ErrWindow is about windows.
	ErrWindow = errors.New("bad window")
	// ErrFPR is about false positive rates.
	ErrFPR = errors.New("false positive rate out of range")
	// ErrMemory is about too little memory, or too much.
	ErrMemory = errors.New("memory out of range")
)
