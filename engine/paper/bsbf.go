package paper

import "github.com/flowdedup/flowdedup/asm/digest"

// BSBF is the biased sampling based Bloom filter of paper "Advanced Bloom Filter
// Based Algorithms for Efficient Approximate Data De-Duplication in Streams"
// (Bera, Dutta, Narang, Bhattacherjee, 2012), section 4, Algorithm 2: every
// element reported distinct is inserted into K Bloom filters, each of which
// resets one random bit for it.
//
// Readings taken: DISTINCT and DUPLICATE are swapped in the printed algorithm's
// first branch; an element whose bits are all set is a duplicate. The random bits
// are reset before the element's are set. They may be zero already, as the text
// says.
type BSBF struct {
	filters partition
}

var _ Filter = (*BSBF)(nil)

// NewBSBF returns an empty filter. Errors wrap [ErrParameter].
func NewBSBF(c BiasedConfig) (*BSBF, error) {
	filters, err := newPartition(c)
	if err != nil {
		return nil, err
	}
	return &BSBF{filters: filters}, nil
}

// TestAndSet implements [Filter].
func (f *BSBF) TestAndSet(d digest.Digest) (seen bool) {
	if f.filters.probe(d) {
		return true
	}
	f.filters.resetEach()
	f.filters.insert()
	return false
}

// prefetch implements prefetcher.
func (f *BSBF) prefetch(digests []digest.Digest) (sum uint64) {
	random := f.filters.random.peek()
	for _, d := range digests {
		sum += f.filters.prefetch(d)
		sum += f.filters.prefetchResets(random)
	}
	return sum
}

// Bits implements [Filter].
func (f *BSBF) Bits() int { return f.filters.totalBits() }
