package engine

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
