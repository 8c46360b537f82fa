package paper

import (
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// prefetchBatch is how many elements' words are read before the first element is tested.
// Memory then serves many misses at once, and all the words fit a small first-level
// cache.
const prefetchBatch = 64

// cachedBits is the memory up to which prefetching costs more than it gains, 4 MiB.
const cachedBits = 4 << 23

// prefetcher is a filter that can read the words that elements will probe and may
// change, before they are tested.
type prefetcher interface {
	// prefetch reads the words and changes nothing. The random choices can depend on
	// earlier reports. prefetch then assumes that all elements are new. The sum has no
	// meaning: it keeps the compiler from removing the reads.
	prefetch(digests []digest.Digest) (sum uint64)
}

// TestAndSetAll calls f.TestAndSet for each element in turn and stores the reports in
// seen, which must be as long as digests. The reports equal those of the plain loop.
//
// In memory larger than the caches the plain loop waits for each probe in turn.
// TestAndSetAll first reads the words of a few dozen elements, so that the waits overlap.
func TestAndSetAll(f Filter, digests []digest.Digest, seen []bool) {
	p, _ := f.(prefetcher)
	if f.Bits() <= cachedBits {
		p = nil
	}
	testAndSetAll(f, p, digests, seen)
}

// testAndSetAll reads the words of each batch before, if p is not nil.
func testAndSetAll(f Filter, p prefetcher, digests []digest.Digest, seen []bool) {
	for len(digests) > 0 {
		n := min(prefetchBatch, len(digests))
		if p != nil {
			p.prefetch(digests[:n])
		}
		for i, d := range digests[:n] {
			seen[i] = f.TestAndSet(d)
		}
		digests, seen = digests[n:], seen[n:]
	}
}

// lookahead is the generator of a filter. It shows values before they are drawn, so that
// the words that they choose can be prefetched.
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

// peek returns a generator of the next values, without drawing them. It is valid until
// the next call.
func (f *lookahead) peek() *rand.Rand {
	*f.peekedSource = *f.source
	return f.peeked
}
