package paper

import (
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
)

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

// lookahead is a filter's generator whose coming values can be looked at before
// they are drawn, so that the words they choose can be touched.
type lookahead struct {
	*rand.Rand
	source *rand.PCG
	// peeked draws from peekedSource, which is set to the state of source.
	peeked       *rand.Rand
	peekedSource *rand.PCG
}

// newLookahead returns a generator with the values of [newRandom].
func newLookahead(seed uint64) lookahead {
	source, peekedSource := newSource(seed), new(rand.PCG)
	return lookahead{Rand: rand.New(source), source: source, peeked: rand.New(peekedSource), peekedSource: peekedSource}
}

// peek returns a generator of the values to come. They are still to come
// afterwards. It is good until the next call.
func (f *lookahead) peek() *rand.Rand {
	*f.peekedSource = *f.source
	return f.peeked
}
