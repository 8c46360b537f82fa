package paper

import "github.com/flowdedup/flowdedup/asm/digest"

// prefetchBatch is how many elements are touched before the first of them is
// tested: enough for the memory to work on many misses at once, and few enough
// that all their words stay in a small first cache.
const prefetchBatch = 64

// prefetcher is a filter that can read the words that elements will probe and may
// change, before they are tested.
type prefetcher interface {
	// prefetch reads the words and changes nothing. Which random choices elements
	// will lead to can depend on earlier reports; prefetch then takes all elements
	// for new. The sum of what it read has no meaning: a result keeps the
	// compiler from leaving the reads out.
	prefetch(digests []digest.Digest) (sum uint64)
}

// TestAndSetAll calls f.TestAndSet for each element in turn and stores what it
// reports in seen, which must be as long as digests. The reports are exactly those of
// the plain loop.
//
// In memory larger than the caches the plain loop waits for each probe by itself.
// Here a few dozen elements' words are read first, independently of one another,
// so that the waits overlap.
func TestAndSetAll(f Filter, digests []digest.Digest, seen []bool) {
	p, canPrefetch := f.(prefetcher)
	for len(digests) > 0 {
		n := min(prefetchBatch, len(digests))
		if canPrefetch {
			p.prefetch(digests[:n])
		}
		for i, d := range digests[:n] {
			seen[i] = f.TestAndSet(d)
		}
		digests, seen = digests[n:], seen[n:]
	}
}
