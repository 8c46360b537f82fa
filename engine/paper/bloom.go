package paper

import (
	"fmt"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/theory"
)

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
