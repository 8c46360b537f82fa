package paper

import (
	"cmp"
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// BiasedConfig says which [Biased] filter to build. The paper's Tables 4 to 9 have K = 2.
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

// Biased is one of the four biased sampling filters of paper "Advanced Bloom Filter Based
// Algorithms for Efficient Approximate Data De-Duplication in Streams" (Bera, Dutta,
// Narang, Bhattacherjee, 2012). Each has K Bloom filters with one hash function, and resets
// random bits when it inserts an element; [NewRSBF], [NewBSBF], [NewBSBFSD] and
// [NewRLBSBF] say when it does and which.
//
// Interpretation of the last three: DISTINCT and DUPLICATE are swapped in the first branch
// of the printed algorithms; an element whose bits are all set is a duplicate. The filter
// resets the random bits, which may be zero already as the text says, before it sets the
// element's.
type Biased struct {
	filters   partition
	method    theory.BiasedMethod
	threshold float64  // p*, of RSBF
	count     uint64   // elements so far, i, of RSBF
	load      []uint64 // bits set in each filter, of RLBSBF
}

var _ Filter = (*Biased)(nil)

func newBiased(method theory.BiasedMethod, c BiasedConfig) (*Biased, error) {
	filters, err := newPartition(c)
	if err != nil {
		return nil, err
	}
	return &Biased{filters: filters, method: method, load: make([]uint64, c.K)}, nil
}

// NewRSBF returns an empty reservoir sampling based Bloom filter (section 3, Algorithm 1).
// It inserts element number i of the stream into K Bloom filters of s bits with probability
// s/i, as a reservoir does. threshold is p*, from 0 (never) to below 1; the paper takes
// 0.03. Errors wrap [ErrParameter].
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
func NewRSBF(c BiasedConfig, threshold float64) (*Biased, error) {
	if err := requireShare("threshold", threshold); err != nil {
		return nil, err
	}
	f, err := newBiased(theory.RSBF, c)
	if err != nil {
		return nil, err
	}
	f.threshold = threshold
	return f, nil
}

// NewBSBF returns an empty biased sampling based Bloom filter (section 4, Algorithm 2). It
// inserts every element reported distinct into K Bloom filters, each of which resets one
// random bit for it. Errors wrap [ErrParameter].
func NewBSBF(c BiasedConfig) (*Biased, error) { return newBiased(theory.BSBF, c) }

// NewBSBFSD returns an empty filter with single deletion (section 4.2, Algorithm 3): like
// [NewBSBF], but an insertion resets one random bit of one random filter only. The filters
// stay fuller, which means more false positives and fewer misses. Errors wrap
// [ErrParameter].
func NewBSBFSD(c BiasedConfig) (*Biased, error) { return newBiased(theory.BSBFSD, c) }

// NewRLBSBF returns an empty randomized load balanced filter (section 5, Algorithm 4): like
// [NewBSBF], but the random bit of filter i is reset only with probability L(i)/s, where
// L(i) is the filter's load, the number of its bits that are set. Each filter uses its own
// load at the arrival of the element; the sum of the loads gives the same rates within
// 0.1 %. Errors wrap [ErrParameter].
func NewRLBSBF(c BiasedConfig) (*Biased, error) { return newBiased(theory.RLBSBF, c) }

// TestAndSet implements [Filter].
func (f *Biased) TestAndSet(d digest.Digest) (seen bool) {
	seen = f.filters.probe(d)
	random := f.filters.random.Rand
	switch {
	case f.method == theory.RSBF:
		f.sample(random, seen)
	case seen:
	case f.method == theory.BSBF:
		f.filters.resetEach()
		f.filters.insert()
	case f.method == theory.BSBFSD:
		f.filters.bits.put(f.pickAny(random), 0)
		f.filters.insert()
	default:
		for filter, i := range f.filters.pos {
			if f.resets(random, filter) {
				f.change(filter, f.filters.pickBit(random, filter), 0)
			}
			f.change(filter, i, 1)
		}
	}
	return seen
}

// sample inserts the element probed last as RSBF does.
func (f *Biased) sample(random *rand.Rand, seen bool) {
	f.count++
	switch {
	case float64(f.filters.size) <= f.threshold*float64(f.count):
		if !seen {
			f.replace()
		}
	case f.inReservoir(random, f.count):
		f.filters.resetEach()
		f.filters.insert()
	}
}

// inReservoir reports whether element number count is inserted: with probability
// min(1, s/count).
func (f *Biased) inReservoir(random *rand.Rand, count uint64) bool {
	return count <= f.filters.size || random.Uint64N(count) < f.filters.size
}

// replace inserts the element probed last and resets as many bits as it sets.
func (f *Biased) replace() {
	for filter, i := range f.filters.pos {
		if f.filters.bits.get(i) == 0 {
			f.filters.resetSet(filter)
			f.filters.bits.put(i, 1)
		}
	}
}

// pickAny returns a uniformly random position of a random filter.
func (f *Biased) pickAny(random *rand.Rand) uint64 {
	return f.filters.pickBit(random, random.IntN(len(f.filters.pos)))
}

// resets reports whether a bit of the filter is reset for an insertion: with
// probability L(i)/s.
func (f *Biased) resets(random *rand.Rand, filter int) bool {
	return random.Uint64N(f.filters.size) < f.load[filter]
}

// change stores a bit and keeps the filter's load.
func (f *Biased) change(filter int, i, bit uint64) {
	f.load[filter] += bit - f.filters.bits.get(i)
	f.filters.bits.put(i, bit)
}

// prefetch implements prefetcher.
func (f *Biased) prefetch(digests []digest.Digest) (sum uint64) {
	random, count := f.filters.random.peek(), f.count
	for _, d := range digests {
		sum += f.filters.prefetch(d)
		switch f.method {
		case theory.RSBF:
			if count++; f.inReservoir(random, count) {
				sum += f.filters.prefetchResets(random)
			}
		case theory.BSBF:
			sum += f.filters.prefetchResets(random)
		case theory.BSBFSD:
			sum += f.filters.bits.load(f.pickAny(random))
		default:
			for filter := range f.load {
				if f.resets(random, filter) {
					sum += f.filters.bits.load(f.filters.pickBit(random, filter))
				}
			}
		}
	}
	return sum
}

// Load returns the share of bits that are set (section 6.2). It reads the whole filter.
func (f *Biased) Load() float64 {
	ones := 0
	for _, word := range f.filters.bits.words {
		ones += bits.OnesCount64(word)
	}
	return float64(ones) / float64(f.Bits())
}

// Bits implements [Filter].
func (f *Biased) Bits() int { return f.filters.totalBits() }
