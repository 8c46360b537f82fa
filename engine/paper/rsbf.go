package paper

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"math/rand/v2"
)

// RSBF is the reservoir sampling based Bloom filter of paper "Advanced Bloom Filter
// Based Algorithms for Efficient Approximate Data De-Duplication in Streams"
// (Bera, Dutta, Narang, Bhattacherjee, 2012), section 3, Algorithm 1: K Bloom
// filters of s bits, into which element number i of the stream is inserted with
// probability s/i, like into a reservoir.
//
// Readings taken; they give the paper's tables, the printed pseudo-code does not:
//
//   - Every element is inserted with probability min(1, s/i), whatever was
//     reported of it. The text has this for elements reported distinct only.
//   - An insertion first resets one random bit of each filter, set or not, and then
//     sets the element's, so that an element never erases itself. Algorithm 1 has
//     the opposite order.
//   - The first s elements reset bits as well. In Algorithm 1 they do not, and then
//     nothing is missed in as large a memory as the tables' largest, which have
//     misses there.
//   - Once s/i is p* or less, an element reported distinct is inserted always: in
//     each filter whose bit of the element is zero, a random bit that is set is
//     reset, and the element's set (Algorithm 1, and the text on the threshold).
//     An element reported duplicate then changes nothing, and no reservoir is
//     drawn from any more. With the paper's p* of 0.03 this begins at element s/0.03,
//     which none of its tables reaches; it is the printed rule, not a measured one.
type RSBF struct {
	filters   partition
	threshold float64 // p*
	count     uint64  // elements so far, i
}

var _ Filter = (*RSBF)(nil)

// NewRSBF returns an empty filter. threshold is p*, from 0 (never) to below 1;
// the paper takes 0.03. Errors wrap [ErrParameter].
func NewRSBF(c BiasedConfig, threshold float64) (*RSBF, error) {
	if err := requireShare("threshold", threshold); err != nil {
		return nil, err
	}
	filters, err := newPartition(c)
	if err != nil {
		return nil, err
	}
	return &RSBF{filters: filters, threshold: threshold}, nil
}

// TestAndSet implements [Filter].
func (f *RSBF) TestAndSet(d digest.Digest) (seen bool) {
	f.count++
	seen = f.filters.probe(d)
	switch {
	case float64(f.filters.size) <= f.threshold*float64(f.count):
		if !seen {
			f.replace()
		}
	case f.inReservoir(f.filters.random.Rand, f.count):
		f.filters.resetEach()
		f.filters.insert()
	}
	return seen
}

// inReservoir reports whether element number count is inserted: with probability
// min(1, s/count).
func (f *RSBF) inReservoir(random *rand.Rand, count uint64) bool {
	return count <= f.filters.size || random.Uint64N(count) < f.filters.size
}

// replace inserts the element probed last and resets as many bits as it sets.
func (f *RSBF) replace() {
	for filter, i := range f.filters.pos {
		if f.filters.bits.get(i) == 0 {
			f.filters.resetSet(filter)
			f.filters.bits.put(i, 1)
		}
	}
}

// prefetch implements prefetcher.
func (f *RSBF) prefetch(digests []digest.Digest) (sum uint64) {
	random := f.filters.random.peek()
	count := f.count
	for _, d := range digests {
		sum += f.filters.prefetch(d)
		count++
		if f.inReservoir(random, count) {
			sum += f.filters.prefetchResets(random)
		}
	}
	return sum
}

// Bits implements [Filter].
func (f *RSBF) Bits() int { return f.filters.totalBits() }
