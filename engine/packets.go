package engine

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"time"
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
