package paper

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// BiasedConfig says which of the biased sampling filters to build: [RSBF],
// [BSBF], [BSBFSD] or [RLBSBF]. Their paper's Tables 4 to 9 have K = 2.
type BiasedConfig struct {
	Bits int    // M, at least K and at most 2^38
	K    int    // Bloom filters, of s = floor(M/K) bits each; from 1 to 1024
	Seed uint64 // of the resets and, for RSBF, the insertions
	// Reach is how many bits of each filter resets reach, from the first on; 0 stands for
	// all. With 2^31 of 2^32 a single filter has the rates that the paper prints for 512 MB.
	Reach int
}

// partition is what the biased sampling filters share: k Bloom filters of size
// bits with one hash function each.
type partition struct {
	bits   cells
	size   uint64   // s
	reach  uint64   // of these, that resets reach
	pos    []uint64 // of the element probed last, one in each filter, counted from the first filter's start
	random lookahead
}

func newPartition(c BiasedConfig) (partition, error) {
	if err := requireRange("K", c.K, 1, maxHashes); err != nil {
		return partition{}, err
	}
	if err := requireRange("bits", c.Bits, c.K, maxBits); err != nil {
		return partition{}, err
	}
	size := c.Bits / c.K
	if err := requireRange("reach", c.Reach, 0, size); err != nil {
		return partition{}, err
	}
	return partition{
		bits:   newCells(size*c.K, 1),
		size:   uint64(size),
		reach:  uint64(cmp.Or(c.Reach, size)),
		pos:    make([]uint64, c.K),
		random: newLookahead(c.Seed),
	}, nil
}

// probe reports whether the element's bits are all set. insert then sets these bits.
func (p *partition) probe(d digest.Digest) (seen bool) {
	positions(p.pos, d, p.size)
	seen = true
	for i := range p.pos {
		p.pos[i] += uint64(i) * p.size
		seen = seen && p.bits.get(p.pos[i]) == 1
	}
	return seen
}

// prefetch reads the words that probe will read.
func (p *partition) prefetch(d digest.Digest) (sum uint64) {
	positions(p.pos, d, p.size)
	for i, pos := range p.pos {
		sum += p.bits.load(uint64(i)*p.size + pos)
	}
	return sum
}

// prefetchResets reads the words that resetEach will write with this generator.
func (p *partition) prefetchResets(random *rand.Rand) (sum uint64) {
	for filter := range p.pos {
		sum += p.bits.load(p.pickBit(random, filter))
	}
	return sum
}

func (p *partition) insert() {
	for _, i := range p.pos {
		p.bits.put(i, 1)
	}
}

// pickBit returns a uniformly random position of a filter that resets reach.
func (p *partition) pickBit(random *rand.Rand, filter int) uint64 {
	return uint64(filter)*p.size + random.Uint64N(p.reach)
}

// resetEach resets one uniformly random bit of each filter, set or not.
func (p *partition) resetEach() {
	for filter := range p.pos {
		p.bits.put(p.pickBit(p.random.Rand, filter), 0)
	}
}

// resetSet resets one set bit of a filter, if there is any. The choice is uniform while
// one bit in some dozens is set. With fewer, uniform draws would take unbounded time, and
// the first set bit after a random position is chosen.
func (p *partition) resetSet(filter int) {
	const draws = 256
	for range draws {
		if i := p.pickBit(p.random.Rand, filter); p.bits.get(i) == 1 {
			p.bits.put(i, 0)
			return
		}
	}
	start := uint64(filter) * p.size
	from, end := p.pickBit(p.random.Rand, filter), start+p.size
	i, found := p.nextSet(from, end)
	if !found {
		i, found = p.nextSet(start, from)
	}
	if found {
		p.bits.put(i, 0)
	}
}

// nextSet returns the first position in [from,end) whose bit is set.
func (p *partition) nextSet(from, end uint64) (i uint64, found bool) {
	for i = from; i < end; i = i&^63 + 64 {
		if word := p.bits.words[i/64] >> (i % 64); word != 0 {
			i += uint64(bits.TrailingZeros64(word))
			return i, i < end
		}
	}
	return 0, false
}

// totalBits returns the bits of all filters, k * s.
func (p *partition) totalBits() int { return len(p.pos) * int(p.size) }

// load returns the share of bits that are set.
func (p *partition) load() float64 {
	ones := 0
	for _, word := range p.bits.words {
		ones += bits.OnesCount64(word)
	}
	return float64(ones) / float64(p.totalBits())
}

// Load returns the share of a filter's bits that are set, or of its cells that are not
// zero (section 6.2). It reads the whole filter, which is a [Stable] or one of this paper's.
func Load(f Filter) float64 {
	switch f := f.(type) {
	case *Stable:
		return 1 - f.Zeros()
	case *RSBF:
		return f.filters.load()
	case *BSBF:
		return f.filters.load()
	case *BSBFSD:
		return f.filters.load()
	case *RLBSBF:
		return f.filters.load()
	}
	return math.NaN()
}

// RSBF is the reservoir sampling based Bloom filter of paper "Advanced Bloom Filter Based
// Algorithms for Efficient Approximate Data De-Duplication in Streams" (Bera, Dutta,
// Narang, Bhattacherjee, 2012), section 3, Algorithm 1. It inserts element number i of
// the stream into K Bloom filters of s bits with probability s/i, as a reservoir does.
//
// Interpretation. These choices reproduce the paper's tables; the printed pseudo-code
// does not:
//
//   - Every element is inserted with probability min(1, s/i), whatever the filter
//     reported. The text says this for elements reported distinct only.
//   - An insertion first resets one random bit of each filter, set or not, and then sets
//     the element's bits, so an element never erases itself. Algorithm 1 has the opposite
//     order.
//   - The first s elements reset bits as well. In Algorithm 1 they do not. Then the
//     largest memory of the tables would have no misses, but the printed ones are not
//     zero.
//   - Once s/i is p* or less, every element reported distinct is inserted (Algorithm 1,
//     and the text on the threshold). Each filter in which the element's bit is zero
//     resets a random set bit and sets the element's. An element reported duplicate then
//     changes nothing, and the reservoir is not used any more. With the paper's p* of
//     0.03 this begins at element s/0.03, which none of its tables reaches. So the rule
//     is as printed, but unmeasured.
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

// BSBF is the biased sampling based Bloom filter of paper "Advanced Bloom Filter Based
// Algorithms for Efficient Approximate Data De-Duplication in Streams" (Bera, Dutta,
// Narang, Bhattacherjee, 2012), section 4, Algorithm 2. It inserts every element reported
// distinct into K Bloom filters, each of which resets one random bit for it.
//
// Interpretation: DISTINCT and DUPLICATE are swapped in the printed algorithm's first
// branch; an element whose bits are all set is a duplicate. The filter resets the random
// bits, which may be zero already as the text says, before it sets the element's.
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

// BSBFSD is the biased sampling based Bloom filter with single deletion of paper
// "Advanced Bloom Filter Based Algorithms for Efficient Approximate Data De-Duplication
// in Streams" (Bera, Dutta, Narang, Bhattacherjee, 2012), section 4.2, Algorithm 3: like
// [BSBF], but an insertion resets one random bit of one random filter only. The filters
// stay fuller than those of BSBF, which means more false positives and fewer misses.
//
// Interpretation: as for [BSBF].
type BSBFSD struct {
	filters partition
}

var _ Filter = (*BSBFSD)(nil)

// NewBSBFSD returns an empty filter. Errors wrap [ErrParameter].
func NewBSBFSD(c BiasedConfig) (*BSBFSD, error) {
	filters, err := newPartition(c)
	if err != nil {
		return nil, err
	}
	return &BSBFSD{filters: filters}, nil
}

// TestAndSet implements [Filter].
func (f *BSBFSD) TestAndSet(d digest.Digest) (seen bool) {
	if f.filters.probe(d) {
		return true
	}
	f.filters.bits.put(f.pickAny(f.filters.random.Rand), 0)
	f.filters.insert()
	return false
}

// pickAny returns a uniformly random position of a random filter.
func (f *BSBFSD) pickAny(random *rand.Rand) uint64 {
	return f.filters.pickBit(random, random.IntN(len(f.filters.pos)))
}

// prefetch implements prefetcher.
func (f *BSBFSD) prefetch(digests []digest.Digest) (sum uint64) {
	random := f.filters.random.peek()
	for _, d := range digests {
		sum += f.filters.prefetch(d)
		sum += f.filters.bits.load(f.pickAny(random))
	}
	return sum
}

// Bits implements [Filter].
func (f *BSBFSD) Bits() int { return f.filters.totalBits() }

// RLBSBF is the randomized load balanced biased sampling based Bloom filter of paper
// "Advanced Bloom Filter Based Algorithms for Efficient Approximate Data De-Duplication
// in Streams" (Bera, Dutta, Narang, Bhattacherjee, 2012), section 5, Algorithm 4: like
// [BSBF], but the random bit of filter i is reset only with probability L(i)/s, where
// L(i) is the filter's load, the number of its bits that are set.
//
// Interpretation: as for [BSBF]. Each filter uses its own load at the arrival of the
// element. The sum of the loads gives the same rates within 0.1 %.
type RLBSBF struct {
	filters partition
	load    []uint64 // bits set in each filter
}

var _ Filter = (*RLBSBF)(nil)

// NewRLBSBF returns an empty filter. Errors wrap [ErrParameter].
func NewRLBSBF(c BiasedConfig) (*RLBSBF, error) {
	filters, err := newPartition(c)
	if err != nil {
		return nil, err
	}
	return &RLBSBF{filters: filters, load: make([]uint64, c.K)}, nil
}

// TestAndSet implements [Filter].
func (f *RLBSBF) TestAndSet(d digest.Digest) (seen bool) {
	if f.filters.probe(d) {
		return true
	}
	random := f.filters.random.Rand
	for filter, i := range f.filters.pos {
		if f.resets(random, filter) {
			f.change(filter, f.filters.pickBit(random, filter), 0)
		}
		f.change(filter, i, 1)
	}
	return false
}

// resets reports whether a bit of the filter is reset for an insertion: with
// probability L(i)/s.
func (f *RLBSBF) resets(random *rand.Rand, filter int) bool {
	return random.Uint64N(f.filters.size) < f.load[filter]
}

// change stores a bit and keeps the filter's load.
func (f *RLBSBF) change(filter int, i, bit uint64) {
	f.load[filter] += bit - f.filters.bits.get(i)
	f.filters.bits.put(i, bit)
}

// prefetch implements prefetcher.
func (f *RLBSBF) prefetch(digests []digest.Digest) (sum uint64) {
	random := f.filters.random.peek()
	for _, d := range digests {
		sum += f.filters.prefetch(d)
		for filter := range f.load {
			if f.resets(random, filter) {
				sum += f.filters.bits.load(f.filters.pickBit(random, filter))
			}
		}
	}
	return sum
}

// Bits implements [Filter].
func (f *RLBSBF) Bits() int { return f.filters.totalBits() }
