package paper

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// SQFConfig is what a streaming quotient filter is made from.
type SQFConfig struct {
	Bits        int    // M, the memory in bits, up to 2^38, of which a power of two of rows is used
	Cells       int    // k, the cells of a row, from 1 to S = 2^r' (r-r'+1)
	Remainder   int    // r, the hash bits whose weight is taken, from 2
	Fingerprint int    // r', how many of them are stored as they are, from 1 to r-1
	Seed        uint64 // of the random evictions
}

// NewSQF returns an empty streaming quotient filter (Dutta, Narang, Bera, VLDB 2013) as paper
// "Quotient Hash Tables - Efficiently Detecting Duplicates in Streaming Data" (Géraud,
// Lombard-Platet, Naccache, SAC 2019) gives it in section 2.4: 2^q rows of k cells. A
// fingerprint is the r' low bits of r hash bits and the number of ones among all r. It
// takes r' + ceil(log2(r+1)) bits, but only 2^r' (r-r'+1) of their values occur.
// Insertion and eviction are those of [QHT].
//
// Interpretation: q is the largest that fits the memory, so that up to half of it is
// unused; at 3-bit cells this is most of QHT's lead over SQF in the paper's Table 2. A
// value that cannot occur (remainder bits that are all ones, with a weight of 0) stands
// for an empty cell and is stored as 0 (footnote of section 4.4.1). This needs an r' of
// at least 1.
//
// Errors wrap [ErrParameter].
func NewSQF(c SQFConfig) (*QHT, error) {
	if err := requireRange("Remainder", c.Remainder, 2, maxCellBits); err != nil {
		return nil, err
	}
	if err := requireRange("Fingerprint", c.Fingerprint, 1, c.Remainder-1); err != nil {
		return nil, err
	}
	weightBits := bits.Len(uint(c.Remainder)) // ceil(log2(r+1))
	width := c.Fingerprint + weightBits
	if err := requireRange("cell width", width, 1, maxCellBits); err != nil {
		return nil, err
	}
	distinct := (c.Remainder - c.Fingerprint + 1) << c.Fingerprint
	if err := requireRange("Cells", c.Cells, 1, distinct); err != nil {
		return nil, fmt.Errorf("a row of different fingerprints: %w", err)
	}
	if err := requireRange("Bits", c.Bits, c.Cells*width, maxBits); err != nil {
		return nil, fmt.Errorf("at least one row: %w", err)
	}
	// The reduced remainder is inverted, so that no fingerprint is 0.
	remainder, reduced := uint64(1)<<c.Remainder-1, uint64(1)<<c.Fingerprint-1
	return &QHT{
		table: newQuotientTable(floorPowerOfTwo(c.Bits/(c.Cells*width)), c.Cells, width),
		fingerprint: func(x uint64) uint64 {
			return (^x&reduced)<<weightBits | uint64(bits.OnesCount64(x&remainder))
		},
		random: newRandom(c.Seed),
	}, nil
}

// maxKicks bounds the time of one insertion; Fan et al. take 500.
const maxKicks = 1 << 16

// CuckooConfig is what a cuckoo filter is made from.
type CuckooConfig struct {
	Bits     int    // the memory in bits, up to 2^38, of which a power of two of rows is used, two at least
	CellBits int    // the bits of a cell, from 2 to 16; S = 2^CellBits - 1 fingerprints
	Cells    int    // k, the cells of a row, from 1 to S
	Kicks    int    // how many fingerprints an insertion moves at most, from 1 to 65536
	Seed     uint64 // of the random choices
}

// Cuckoo is the cuckoo filter (Fan, Andersen, Kaminsky, Mitzenmacher, CoNEXT 2014) for
// unbounded streams, as paper "Quotient Hash Tables - Efficiently Detecting Duplicates in
// Streaming Data" (Géraud, Lombard-Platet, Naccache, SAC 2019), sections 2.3 and 6.1,
// measures it. When an insertion has moved as many fingerprints as allowed to their other
// rows, the filter forgets the last one moved instead of failing.
//
// An element has two rows, each of which follows from the other one and the fingerprint.
// In saturation the cells hold fingerprints as often as elements have them, so that the
// false positive rate is the sum over all fingerprints of p (1 - (1-p)^(2k)), with k
// cells in a row: 28.52 % for one cell of 3 bits.
//
// Interpretation: an element reported duplicate is inserted too, as section 5.1 says of
// cuckoo filters, so that a row may hold a fingerprint several times; and fingerprint 0
// becomes 1 ([EmptyReassigned]), as section 3.2 says of them. The printed 28.52 % needs
// both: with fingerprints that are all equally likely and never twice in a row the limit
// would be 2/7. The rows are a power of two, the largest that fits. An element's two rows
// always differ. The printed rates need 2^s bits of memory for a cell of s bits, because
// the authors' program divides the memory by 2^s.
type Cuckoo struct {
	table        quotientTable
	fingerprints fingerprints
	kicks        int
	random       *rand.Rand
}

var _ Filter = (*Cuckoo)(nil)

// NewCuckoo returns an empty filter; errors wrap [ErrParameter].
func NewCuckoo(c CuckooConfig) (*Cuckoo, error) {
	if err := requireRange("CellBits", c.CellBits, 2, maxCellBits); err != nil {
		return nil, err
	}
	f := fingerprints{width: c.CellBits, empty: EmptyReassigned}
	if err := requireRange("Cells", c.Cells, 1, f.count()); err != nil {
		return nil, err
	}
	if err := requireRange("Kicks", c.Kicks, 1, maxKicks); err != nil {
		return nil, err
	}
	if err := requireRange("Bits", c.Bits, 2*c.Cells*c.CellBits, maxBits); err != nil {
		return nil, fmt.Errorf("at least two rows: %w", err)
	}
	rows := floorPowerOfTwo(c.Bits / (c.Cells * c.CellBits))
	return &Cuckoo{
		table:        newQuotientTable(rows, c.Cells, c.CellBits),
		fingerprints: f,
		kicks:        c.Kicks,
		random:       newRandom(c.Seed),
	}, nil
}

// TestAndSet implements [Filter].
func (c *Cuckoo) TestAndSet(d digest.Digest) (seen bool) {
	fingerprint := c.fingerprints.of(d[0])
	row := scale(d[1], uint64(c.table.rows))
	other := c.alternateRow(row, fingerprint)
	seen = c.holds(row, fingerprint) || c.holds(other, fingerprint)
	if !c.insertInto(row, fingerprint) && !c.insertInto(other, fingerprint) {
		if c.random.Uint64()&1 == 1 {
			row = other
		}
		c.kick(row, fingerprint)
	}
	return seen
}

// alternateRow returns the second row of a fingerprint that may be in the row given;
// alternateRow of other is the row again.
func (c *Cuckoo) alternateRow(row, fingerprint uint64) uint64 {
	return row ^ (1 + scale(rehash(fingerprint, 0), uint64(c.table.rows)-1))
}

func (c *Cuckoo) holds(row, fingerprint uint64) bool {
	_, found := c.table.find(row*uint64(c.table.perRow), fingerprint)
	return found
}

// insertInto stores the fingerprint if the row has an empty cell.
func (c *Cuckoo) insertInto(row, fingerprint uint64) bool {
	cell, found := c.table.find(row*uint64(c.table.perRow), 0)
	if found {
		c.table.cells.put(cell, fingerprint)
	}
	return found
}

// kick stores the fingerprint in a random cell of the full row, moves what was there to
// its other row, and so on until a cell is empty or enough were moved.
func (c *Cuckoo) kick(row, fingerprint uint64) {
	k := uint64(c.table.perRow)
	for range c.kicks {
		cell := row*k + c.random.Uint64N(k)
		moved := c.table.cells.get(cell)
		c.table.cells.put(cell, fingerprint)
		row, fingerprint = c.alternateRow(row, moved), moved
		if c.insertInto(row, fingerprint) {
			return
		}
	}
}

// Bits implements [Filter]: the memory of the rows in use.
func (c *Cuckoo) Bits() int { return c.table.bits() }

// A2 is the aging Bloom filter with two active buffers (Yoon, IEEE Transactions on
// Knowledge and Data Engineering 22(1), 2010), which paper "Quotient Hash Tables -
// Efficiently Detecting Duplicates in Streaming Data" (Géraud, Lombard-Platet, Naccache,
// SAC 2019), section 6.1, measures. Two Bloom filters share the memory. An element in the
// first is a duplicate and changes nothing. Any other is inserted into the first, and is
// a duplicate if it is in the second. When the first has taken capacity elements, the
// second is cleared and the two swap. So an element is found until at least capacity
// others were inserted.
//
// Interpretation: the swap takes place before the insertion that would exceed the
// capacity, so the first buffer always has the latest element. The columns that the SAC
// paper prints, 38 % false positives where 10 % were asked for, are those of k = 2 and
// buffers that swap when half of their bits are set, a capacity of (m/2) ln(2). Two such
// buffers report 7/16 of the new elements when both are full. The authors' program takes
// k = floor(-ln(f)) for a buffer's rate f, where half full buffers need k = -log2(f),
// which is above 4. [NewA2ForRate] keeps to the target.
type A2 struct {
	first, second cells
	m             int
	capacity      int
	count         int // insertions into first
	pos           []uint64
}

var _ Filter = (*A2)(nil)

// NewA2 returns an empty filter of the given memory, from 2 to 2^38 bits, half of
// it for each buffer, with k hash functions, from 1 to 1024, and capacity, from 1,
// insertions into a buffer. Errors wrap [ErrParameter].
func NewA2(bits, k, capacity int) (*A2, error) {
	if err := requireRange("bits", bits, 2, maxBits); err != nil {
		return nil, err
	}
	if err := requireRange("k", k, 1, maxHashes); err != nil {
		return nil, err
	}
	if err := requireRange("capacity", capacity, 1, math.MaxInt); err != nil {
		return nil, err
	}
	m := bits / 2
	return &A2{
		first: newCells(m, 1), second: newCells(m, 1), m: m,
		capacity: capacity, pos: make([]uint64, k),
	}, nil
}

// NewA2ForRate returns an empty filter whose false positive rate is target, above 0 and
// below 1, when both buffers are full, and lower before. Each buffer's rate is then f = 1
// - sqrt(1-target), and x = f^(1/k) of its bits are set; k is -log2(f), rounded. Only
// elements that the buffer does not report are inserted. Each sets k(1-x)/(1-x^k) more
// bits on average, more than in a plain Bloom filter. So a buffer of m bits takes (m/k)
// (x + x^2/2 + ... + x^k/k) of them, but at least one. Errors wrap [ErrParameter].
func NewA2ForRate(bits int, target float64) (*A2, error) {
	if err := requireShare("target", target); err != nil {
		return nil, err
	}
	// This form of f loses no digits when target is small.
	f := target / (1 + math.Sqrt(1-target))
	k := max(1, math.Round(-math.Log2(f)))
	if err := requireRange("k for the target", int(min(k, maxHashes+1)), 1, maxHashes); err != nil {
		return nil, err
	}
	x, sum := math.Pow(f, 1/k), 0.
	for j := 1.; j <= k; j++ {
		sum += math.Pow(x, j) / j
	}
	capacity := float64(bits/2) / k * sum
	return NewA2(bits, int(k), max(1, int(capacity)))
}

// Capacity returns how many insertions a buffer takes.
func (a *A2) Capacity() int { return a.capacity }

// K returns the number of hash functions.
func (a *A2) K() int { return len(a.pos) }

// TestAndSet implements [Filter].
func (a *A2) TestAndSet(d digest.Digest) (seen bool) {
	positions(a.pos, d, uint64(a.m))
	if allSet(&a.first, a.pos) {
		return true
	}
	seen = allSet(&a.second, a.pos)
	if a.count == a.capacity {
		clear(a.second.words)
		a.first, a.second, a.count = a.second, a.first, 0
	}
	for _, i := range a.pos {
		a.first.put(i, 1)
	}
	a.count++
	return seen
}

// Bits implements [Filter].
func (a *A2) Bits() int { return 2 * a.m }

// allSet reports whether none of the cells is zero.
func allSet(c *cells, pos []uint64) bool {
	for _, i := range pos {
		if c.get(i) == 0 {
			return false
		}
	}
	return true
}

// BDBFConfig is what a block decaying Bloom filter is made from.
type BDBFConfig struct {
	Bits     int // the memory in bits, up to 2^38; counters are floor(Bits/CellBits)
	CellBits int // the bits of a counter, from 2 to 16; a window is 2^CellBits - 2 blocks
	K        int // the hash functions, from 1 to 1024
	Window   int // W, the window in elements, from 1
}

// BDBF is the block decaying Bloom filter, b_DBF, for sliding windows (Shen, Zhang,
// Improved Approximate Detection of Duplicates for Data Streams over Sliding Windows,
// Journal of Computer Science and Technology 23(6), 2008), which paper "Quotient Hash
// Tables - Efficiently Detecting Duplicates in Streaming Data" (Géraud, Lombard-Platet,
// Naccache, SAC 2019), section 6.1, measures: a Bloom filter of counters. Every element
// sets its k counters to the largest value, 2^s - 1 for s bits. After each block of the
// stream, all counters above zero are decremented. An element is a duplicate if none of
// its counters is zero.
//
// It misses nothing within the window. It may report elements for up to one block more,
// apart from false positives.
//
// Interpretation: a block is ceil(W/(2^s-2)) elements, so that 2^s - 2 whole blocks cover
// the window wherever in its block an element came. Elements reported duplicate set their
// counters too, as the window is of elements and not of distinct ones. The SAC paper
// gives neither k nor s. The authors' program takes k = s = ceil(sqrt(M ln(2)/W)), the
// best k for M/s counters, and blocks of ceil(W/(2^(s-1)-1)) elements, since it replaces
// decrements by a comparison with a running counter. While the running counter is zero,
// counters of zero pass the comparison, so the program reports everything in one of
// 2^(s-1) blocks: 12.5 of the 27.46 % printed for 100,000 bits. This filter does not do
// that.
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
