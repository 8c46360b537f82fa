package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// StableConfig says which stable Bloom filter to build.
type StableConfig struct {
	Cells    int    // m, more than K; Cells * CellBits is at most 2^38
	CellBits int    // d, from 1 to 16; a cell's largest value Max is 2^d - 1
	K        int    // hash functions, from 1 to 1024
	P        int    // cells decremented for each element, from 1 to Cells
	Seed     uint64 // of the decrements
	// Independent draws P different cells for each element, as Algorithm 1 has it, and not
	// adjacent ones. It takes time in the order of P^2.
	Independent bool
	// Reach is how many cells decrements begin at, from the first on, at least P; 0 stands
	// for all.
	// With 2^31 of 2^32 the filter has the rates that Bera et al. print for 512 MB.
	Reach int
}

func (c StableConfig) validate() error {
	if err := requireRange("cell bits", c.CellBits, 1, maxCellBits); err != nil {
		return err
	}
	if err := requireRange("K", c.K, 1, maxHashes); err != nil {
		return err
	}
	if err := requireRange("cells", c.Cells, c.K+1, maxBits/c.CellBits); err != nil {
		return err
	}
	if err := requireRange("P", c.P, 1, c.Cells); err != nil {
		return err
	}
	return requireRange("reach", cmp.Or(c.Reach, c.Cells), c.P, c.Cells)
}

// Stable is the stable Bloom filter (SBF) of paper "Approximately Detecting Duplicates
// for Streaming Data using Stable Bloom Filters" (Deng, Rafiei, SIGMOD 2006), section
// 3.2, Algorithm 1. An element is a duplicate if none of its K cells is zero. Every
// element then decrements P cells and sets its K cells to Max.
//
// Interpretation:
//
//   - Decrements and settings happen for every element, reported duplicate or not. The
//     indentation of Algorithm 1 has them for distinct ones only. But the proofs of
//     section 3.3 (each iteration has all three operations) and the measured rates of the
//     tables need them for every element.
//   - The P cells are adjacent, from one uniformly random position on (section 5.2, "SBF
//     Implementation"), and wrap around at the end of the array. Algorithm 1 draws P
//     different cells; see Independent of [StableConfig].
//   - The K hash functions share the whole array.
//   - Positions reach all cells, unless Reach says otherwise.
//
// The time for an element grows with K + P.
type Stable struct {
	cells   cells
	m       uint64
	p       int
	reach   uint64
	pos     []uint64
	decayed []uint64 // cells that this element decremented; nil for adjacent ones
	random  lookahead
}

var _ Filter = (*Stable)(nil)

// NewStable returns a filter whose cells are all zero. Errors wrap [ErrParameter].
func NewStable(c StableConfig) (*Stable, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &Stable{
		cells:  newCells(c.Cells, c.CellBits),
		m:      uint64(c.Cells),
		p:      c.P,
		reach:  uint64(cmp.Or(c.Reach, c.Cells)),
		pos:    make([]uint64, c.K),
		random: newLookahead(c.Seed),
	}
	if c.Independent {
		s.decayed = make([]uint64, 0, c.P)
	}
	return s, nil
}

// TestAndSet implements [Filter].
func (s *Stable) TestAndSet(d digest.Digest) (seen bool) {
	positions(s.pos, d, s.m)
	seen = true
	for _, i := range s.pos {
		seen = seen && s.cells.get(i) > 0
	}
	s.decay()
	for _, i := range s.pos {
		s.cells.put(i, s.cells.top)
	}
	return seen
}

// prefetch implements prefetcher.
func (s *Stable) prefetch(digests []digest.Digest) (sum uint64) {
	random := s.random.peek()
	for _, d := range digests {
		sum += s.cells.load(random.Uint64N(s.reach))
		positions(s.pos, d, s.m)
		for _, i := range s.pos {
			sum += s.cells.load(i)
		}
	}
	return sum
}

// decay decrements P cells.
func (s *Stable) decay() {
	if s.decayed != nil {
		s.decayApart()
		return
	}
	i := s.random.Uint64N(s.reach)
	for range s.p {
		s.cells.decrement(i)
		if i++; i == s.m {
			i = 0
		}
	}
}

// decayApart decrements P different cells.
func (s *Stable) decayApart() {
	s.decayed = s.decayed[:0]
	for len(s.decayed) < s.p {
		if i := s.random.Uint64N(s.reach); !slices.Contains(s.decayed, i) {
			s.cells.decrement(i)
			s.decayed = append(s.decayed, i)
		}
	}
}

// Zeros returns the share of cells that are zero, whose limit is the stable
// point (section 3.4). It reads the whole array.
func (s *Stable) Zeros() float64 {
	zeros := 0
	for i := range s.m {
		if s.cells.get(i) == 0 {
			zeros++
		}
	}
	return float64(zeros) / float64(s.m)
}

// Load returns the share of cells that are not zero. It reads the whole array.
func (s *Stable) Load() float64 { return 1 - s.Zeros() }

// Bits implements [Filter].
func (s *Stable) Bits() int { return int(s.m * s.cells.width) }

// Bloom is the Bloom filter of paper "Approximately Detecting Duplicates for
// Streaming Data using Stable Bloom Filters" (Deng, Rafiei, SIGMOD 2006),
// section 2.3: one array of m bits shared by K hash functions, from which nothing
// is ever removed. It misses no duplicate; its false positive rate rises to 1.
//
// Interpretation: the text says that the paper's measurements used the K that is best for
// the number of distinct elements, but the printed rates (Table 2) are those of K = 2
// throughout. So K is a parameter here; [NewOptimalBloom] is for the best one.
type Bloom struct {
	bits cells
	m    int
	pos  []uint64
}

var _ Filter = (*Bloom)(nil)

// NewBloom returns an empty filter of m bits and k hash functions. m is from 1
// to 2^38, k from 1 to 1024; errors wrap [ErrParameter].
func NewBloom(m, k int) (*Bloom, error) {
	if err := requireRange("m", m, 1, maxBits); err != nil {
		return nil, err
	}
	if err := requireRange("k", k, 1, maxHashes); err != nil {
		return nil, err
	}
	return &Bloom{bits: newCells(m, 1), m: m, pos: make([]uint64, k)}, nil
}

// NewOptimalBloom returns an empty filter of m bits with the number of hash functions
// that is best for the given number of distinct elements, ln(2) m/n rounded to the better
// neighbor (section 2.3), at most 1024.
func NewOptimalBloom(m, distinct int) (*Bloom, error) {
	k, err := theory.BloomOptimalK(m, distinct)
	if err != nil {
		return nil, fmt.Errorf("paper: best number of hash functions: %w: %w", ErrParameter, err)
	}
	return NewBloom(m, min(k, maxHashes))
}

// K returns the number of hash functions.
func (b *Bloom) K() int { return len(b.pos) }

// TestAndSet implements [Filter].
func (b *Bloom) TestAndSet(d digest.Digest) (seen bool) {
	positions(b.pos, d, uint64(b.m))
	seen = true
	for _, i := range b.pos {
		if b.bits.get(i) == 0 {
			seen = false
			b.bits.put(i, 1)
		}
	}
	return seen
}

// prefetch implements prefetcher.
func (b *Bloom) prefetch(digests []digest.Digest) (sum uint64) {
	for _, d := range digests {
		positions(b.pos, d, uint64(b.m))
		for _, i := range b.pos {
			sum += b.bits.load(i)
		}
	}
	return sum
}

// Bits implements [Filter].
func (b *Bloom) Bits() int { return b.m }

// LRU is the buffering method of paper "Approximately Detecting Duplicates for Streaming
// Data using Stable Bloom Filters" (Deng, Rafiei, SIGMOD 2006), sections 2.2 and 5.2
// ("Buffering Implementation"): a buffer of elements, in which a new one replaces the
// least recently used. It has no false positives.
//
// Interpretation: "used" means that the element arrived, found or not. The filter
// compares the whole digest, but accounts for memory as the paper does: the element's own
// bits (64 for its web pages, 32 for its synthetic data), without the hash table and the
// list.
type LRU struct {
	elementBits int
	capacity    int
	index       map[digest.Digest]uint32 // into nodes
	// nodes is a doubly linked ring in the order of use. nodes[0] is no element:
	// after it comes the most recently used, before it the least. It grows to
	// the capacity as elements come.
	nodes []lruNode
}

type lruNode struct {
	digest     digest.Digest
	prev, next uint32
}

var _ Filter = (*LRU)(nil)

// NewLRU returns an empty buffer of bits/elementBits elements, which must be from
// 1 to 2^32-2. elementBits is from 1 to 128, bits at most 2^38; errors wrap
// [ErrParameter].
func NewLRU(bits, elementBits int) (*LRU, error) {
	if err := requireRange("element bits", elementBits, 1, 128); err != nil {
		return nil, err
	}
	most := min(maxBits, elementBits*min(math.MaxUint32-1, math.MaxInt/128))
	if err := requireRange("bits", bits, elementBits, most); err != nil {
		return nil, err
	}
	return &LRU{
		elementBits: elementBits,
		capacity:    bits / elementBits,
		index:       make(map[digest.Digest]uint32),
		nodes:       make([]lruNode, 1),
	}, nil
}

// TestAndSet implements [Filter].
func (l *LRU) TestAndSet(d digest.Digest) (seen bool) {
	n, seen := l.index[d]
	switch {
	case seen:
		l.unlink(n)
	case len(l.nodes) <= l.capacity:
		n = uint32(len(l.nodes))
		l.nodes = append(l.nodes, lruNode{digest: d})
		l.index[d] = n
	default:
		n = l.nodes[0].prev
		l.unlink(n)
		delete(l.index, l.nodes[n].digest)
		l.nodes[n].digest = d
		l.index[d] = n
	}
	l.linkFirst(n)
	return seen
}

func (l *LRU) unlink(n uint32) {
	prev, next := l.nodes[n].prev, l.nodes[n].next
	l.nodes[prev].next, l.nodes[next].prev = next, prev
}

func (l *LRU) linkFirst(n uint32) {
	first := l.nodes[0].next
	l.nodes[n].prev, l.nodes[n].next = 0, first
	l.nodes[0].next, l.nodes[first].prev = n, n
}

// Bits implements [Filter].
func (l *LRU) Bits() int { return l.capacity * l.elementBits }
