package paper

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// Filter tells which elements of a stream came before, as far as it remembers.
// It serves one goroutine.
type Filter interface {
	// TestAndSet reports whether the element was seen before, and remembers it as the
	// method prescribes. An element is given by its digest, from which all hash functions
	// derive.
	TestAndSet(d digest.Digest) (seen bool)
	// Bits returns the memory that the method accounts for, in bits: what
	// papers compare at equal size, not what Go allocates.
	Bits() int
}

// TimedFilter tells which elements of a stream came before within a window of time.
// Time goes in whole units, counted from any origin that the caller chooses. It
// serves one goroutine.
type TimedFilter interface {
	// TestAndSetAt reports whether the element was seen before within the window, and
	// remembers it as the method prescribes. unit is when the element came. The latest
	// unit given so far is the present, and a later unit advances it. An element of an
	// earlier unit is late, which is no error. It is tested in the present, and
	// remembered for the rest of its own window.
	TestAndSetAt(d digest.Digest, unit uint64) (seen bool)
	// Bits returns the memory that the method accounts for, in bits: what papers
	// compare at equal size, not what Go allocates.
	Bits() int
}

// ErrParameter is wrapped by every error of the constructors: no filter can have these
// parameters.
var ErrParameter = errors.New("impossible filter parameter")

const (
	// maxBits bounds a filter's memory, 32 GiB, so that a wrong unit is an error and does
	// not end the process. Every table of the papers fits. With 32-bit ints it is what
	// fits after rounding up to whole words.
	maxBits = min(1<<38, math.MaxInt-63)
	// maxHashes bounds the number of hash functions, far above any in the papers.
	maxHashes = 1 << 10
)

// requireRange reports an error unless least <= value <= most.
func requireRange(name string, value, least, most int) error {
	if value < least || value > most {
		return fmt.Errorf("paper: %s is %d, must be from %d to %d: %w", name, value, least, most, ErrParameter)
	}
	return nil
}

// requireShare reports an error unless 0 <= share < 1.
func requireShare(name string, share float64) error {
	if !(share >= 0 && share < 1) {
		return fmt.Errorf("paper: %s is %g, must be from 0 to below 1: %w", name, share, ErrParameter)
	}
	return nil
}

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
