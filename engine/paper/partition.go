package paper

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"math/bits"
	"math/rand/v2"
)

// BiasedConfig says which of the biased sampling filters to build: [RSBF],
// [BSBF], [BSBFSD] or [RLBSBF]. Their paper's Tables 4 to 9 have K = 2.
type BiasedConfig struct {
	Bits int    // M, at least K and at most 2^38
	K    int    // Bloom filters, of s = floor(M/K) bits each; from 1 to 1024
	Seed uint64 // of the resets and, for RSBF, the insertions
}

// partition is what the biased sampling filters share: k Bloom filters of size
// bits with one hash function each.
type partition struct {
	bits   cells
	size   uint64   // s
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
	return partition{
		bits:   newCells(size*c.K, 1),
		size:   uint64(size),
		pos:    make([]uint64, c.K),
		random: newLookahead(c.Seed),
	}, nil
}

// probe reports whether the element's bits are all set, and makes it the one that
// insert sets.
func (p *partition) probe(d digest.Digest) (seen bool) {
	positions(p.pos, d, p.size)
	seen = true
	for i := range p.pos {
		p.pos[i] += uint64(i) * p.size
		seen = seen && p.bits.get(p.pos[i]) == 1
	}
	return seen
}

// prefetch reads the words that probe will.
func (p *partition) prefetch(d digest.Digest) (sum uint64) {
	positions(p.pos, d, p.size)
	for i, pos := range p.pos {
		sum += p.bits.load(uint64(i)*p.size + pos)
	}
	return sum
}

// prefetchResets reads the words that resetEach will with this generator.
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

// pickBit returns a uniformly random position of a filter.
func (p *partition) pickBit(random *rand.Rand, filter int) uint64 {
	return uint64(filter)*p.size + random.Uint64N(p.size)
}

// resetEach resets one uniformly random bit of each filter, set or not.
func (p *partition) resetEach() {
	for filter := range p.pos {
		p.bits.put(p.pickBit(p.random.Rand, filter), 0)
	}
}

// resetSet resets one bit of a filter that is set, if there is any. It is drawn
// uniformly as long as one in some dozens is set. Drawing from fewer would take
// unbounded time, so then it is the next one that is set after a random position.
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

// nextSet returns the first position from from to below end whose bit is set.
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
