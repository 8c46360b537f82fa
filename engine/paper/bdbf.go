package paper

import (
	"fmt"
	"github.com/flowdedup/flowdedup/asm/digest"
	"math"
)

// BDBFConfig is what a block decaying Bloom filter is made from.
type BDBFConfig struct {
	Bits     int // the memory in bits, up to 2^38; counters are floor(Bits/CellBits)
	CellBits int // the bits of a counter, from 2 to 16; a window is 2^CellBits - 2 blocks
	K        int // the hash functions, from 1 to 1024
	Window   int // W, the window in elements, from 1
}

// BDBF is the block decaying Bloom filter, b_DBF, for sliding windows (Shen, Zhang,
// Improved Approximate Detection of Duplicates for Data Streams over Sliding
// Windows, Journal of Computer Science and Technology 23(6), 2008), which paper
// "Quotient Hash Tables - Efficiently Detecting Duplicates in Streaming Data"
// (Géraud, Lombard-Platet, Naccache, SAC 2019), section 6.1, measures: a Bloom filter
// of counters. Every element sets its k counters to the largest value, 2^s - 1 for
// s bits; after each block of the stream all counters that are not zero are
// decremented. An element is a duplicate if none of its counters is zero.
//
// Nothing within the window is missed. What came before may be reported for up to
// one block more, apart from false positives.
//
// Readings taken: a block is ceil(W/(2^s-2)) elements, so that 2^s - 2 whole blocks
// cover the window wherever in its block an element came. Elements reported
// duplicate set their counters too, as the window is of elements and not of distinct
// ones. The SAC paper gives neither k nor s. The authors' program takes k = s =
// ceil(sqrt(M ln(2)/W)), the best k for M/s counters, and blocks of ceil(W/(2^(s-1)-1))
// elements, as it saves decrements by comparing the counters with a running one. Its
// counters that are zero pass while the running one is zero, so that it reports
// everything in one block of 2^(s-1): 12.5 of the 27.46 % printed for 100,000
// bits. This filter does not do that.
type BDBF struct {
	counters cells
	count    int // counters
	block    int // elements of a block
	left     int // elements until the block is complete
	pos      []uint64
}

var _ Filter = (*BDBF)(nil)

// NewBDBF returns an empty filter; errors wrap [ErrParameter].
func NewBDBF(c BDBFConfig) (*BDBF, error) {
	if err := requireRange("CellBits", c.CellBits, 2, maxCellBits); err != nil {
		return nil, err
	}
	if err := requireRange("Bits", c.Bits, c.CellBits, maxBits); err != nil {
		return nil, fmt.Errorf("at least one counter: %w", err)
	}
	if err := requireRange("K", c.K, 1, maxHashes); err != nil {
		return nil, err
	}
	if err := requireRange("Window", c.Window, 1, math.MaxInt); err != nil {
		return nil, err
	}
	count, blocks := c.Bits/c.CellBits, 1<<c.CellBits-2
	block := (c.Window-1)/blocks + 1
	return &BDBF{
		counters: newCells(count, c.CellBits), count: count,
		block: block, left: block, pos: make([]uint64, c.K),
	}, nil
}

// TestAndSet implements [Filter]. It takes time proportional to the memory once a
// block.
func (b *BDBF) TestAndSet(d digest.Digest) (seen bool) {
	positions(b.pos, d, uint64(b.count))
	seen = allSet(&b.counters, b.pos)
	for _, i := range b.pos {
		b.counters.put(i, b.counters.top)
	}
	if b.left--; b.left == 0 {
		b.left = b.block
		for i := range uint64(b.count) {
			b.counters.decrement(i)
		}
	}
	return seen
}

// Bits implements [Filter]: the memory of whole counters.
func (b *BDBF) Bits() int { return b.count * int(b.counters.width) }
