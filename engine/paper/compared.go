// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// maxKicks bounds the time of one insertion; Fan et al. take 500.
const maxKicks = 1 << 16

// CuckooConfig configures a cuckoo filter.
type CuckooConfig struct {
	Bits     int    // the memory in bits, up to 2^38; the largest power of two of rows that fits is used, at least two
	CellBits int    // the bits of a cell, from 2 to 16; S = 2^CellBits - 1 fingerprints
	Cells    int    // k, the cells of a row, from 1 to S
	Kicks    int    // limit of the fingerprints that an insertion moves, from 1 to 65536
	Seed     uint64 // of the random choices
}

// Cuckoo is the cuckoo filter (Fan, Andersen, Kaminsky, Mitzenmacher, CoNEXT 2014) for
// unbounded streams, as GLN19, sections 2.3 and 6.1, measures it. When an insertion has
// moved as many fingerprints as allowed to their other rows, the filter forgets the last
// fingerprint moved instead of failing.
//
// An element has two rows, each determined by the other row and the fingerprint. In
// saturation the cells hold fingerprints as often as elements have them, so that the
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
	table        *quotientTable
	fingerprints fingerprints
	kicks        int
	random       *rand.Rand
}

var _ Filter = (*Cuckoo)(nil)

// NewCuckoo returns an empty filter; errors wrap [ErrParameter].
func NewCuckoo(c CuckooConfig) (*Cuckoo, error) {
	f := fingerprints{width: c.CellBits, empty: EmptyReassigned}
	if err := cmp.Or(
		requireRange("CellBits", c.CellBits, 2, maxCellBits),
		requireRange("Kicks", c.Kicks, 1, maxKicks),
	); err != nil {
		return nil, err
	}
	t, err := tableShape{
		bits: c.Bits, perRow: c.Cells, width: c.CellBits, fingerprints: f.count(),
		leastRows: 2, powerOfTwo: true,
	}.newTable()
	if err != nil {
		return nil, err
	}
	return &Cuckoo{table: t, fingerprints: f, kicks: c.Kicks, random: newRandom(c.Seed)}, nil
}

// TestAndSet implements [Filter].
func (c *Cuckoo) TestAndSet(d digest.Digest) (seen bool) {
	row, fingerprint := c.table.rowOf(d), c.fingerprints.of(d[0])
	other := c.alternateRow(row, fingerprint)
	seen = slices.Contains(c.table.read(row), fingerprint) ||
		slices.Contains(c.table.read(other), fingerprint)
	if !c.insert(row, fingerprint) && !c.insert(other, fingerprint) {
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
	return row ^ (1 + scale(rehash(fingerprint, 0), c.table.rows-1))
}

// insert stores the fingerprint if the row has an empty cell.
func (c *Cuckoo) insert(at, fingerprint uint64) bool {
	row := c.table.read(at)
	cell := slices.Index(row, 0)
	if cell >= 0 {
		row[cell] = fingerprint
		c.table.write(at, row)
	}
	return cell >= 0
}

// kick stores the fingerprint in a random cell of the full row, moves the replaced
// fingerprint to its other row, and so on until a cell is empty or enough were moved.
func (c *Cuckoo) kick(at, fingerprint uint64) {
	for range c.kicks {
		row := c.table.read(at)
		cell := c.random.Uint64N(uint64(len(row)))
		moved := row[cell]
		row[cell] = fingerprint
		c.table.write(at, row)
		at, fingerprint = c.alternateRow(at, moved), moved
		if c.insert(at, fingerprint) {
			return
		}
	}
}

// Bits implements [Filter]: the memory of the rows in use.
func (c *Cuckoo) Bits() int { return c.table.cells.Bits() }

// A2 is the aging Bloom filter with two active buffers (Yoon, IEEE Transactions on
// Knowledge and Data Engineering 22(1), 2010), which GLN19, section 6.1, measures. Two
// Bloom filters share the memory. An element in the first is a duplicate and changes
// nothing. Any other is inserted into the first, and is a duplicate if it is in the
// second. When the first has taken capacity elements, the second is cleared and the two
// swap. So an element is found until at least capacity others were inserted.
//
// Interpretation: the swap takes place before the insertion that would exceed the
// capacity, so the first buffer always has the latest element. The columns that GLN19
// prints, 38 % false positives for a target of 10 %, belong to k = 2 and buffers that
// swap when half of their bits are set, a capacity of (m/2) ln(2). Two such buffers
// report 7/16 of the new elements when both are full. The authors' program takes k =
// floor(-ln(f)) for a buffer's rate f, where half full buffers need k = -log2(f), which
// is above 4. [NewA2ForRate] keeps to the target.
type A2 struct {
	first, second *Bloom
	capacity      int
}

var _ Filter = (*A2)(nil)

// NewA2 returns an empty filter of the given memory, from 2 to 2^38 bits, half of
// it for each buffer, with k hash functions, from 1 to 1024, and capacity, from 1,
// insertions into a buffer. Errors wrap [ErrParameter].
func NewA2(bits, k, capacity int) (*A2, error) {
	if err := cmp.Or(
		requireRange("bits", bits, 2, maxBits),
		requireRange("k", k, 1, maxHashes),
		requireRange("capacity", capacity, 1, math.MaxInt),
	); err != nil {
		return nil, err
	}
	return &A2{first: newBloom(bits/2, k), second: newBloom(bits/2, k), capacity: capacity}, nil
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

// TestAndSet implements [Filter].
func (a *A2) TestAndSet(d digest.Digest) (seen bool) {
	if a.first.test(d) {
		return true
	}
	seen = a.second.test(d)
	if a.first.came == a.capacity {
		a.second.empty()
		a.first, a.second = a.second, a.first
	}
	a.first.TestAndSet(d)
	return seen
}

// Bits implements [Filter].
func (a *A2) Bits() int { return 2 * a.first.Bits() }

// BDBFConfig configures a block decaying Bloom filter.
type BDBFConfig struct {
	Bits     int // the memory in bits, up to 2^38; counters are floor(Bits/CellBits)
	CellBits int // the bits of a counter, from 2 to 16; a window is 2^CellBits - 2 blocks
	K        int // the hash functions, from 1 to 1024
	Window   int // W, the window in elements, from 1
}

// BDBF is the block decaying Bloom filter, b_DBF, for sliding windows (Shen, Zhang,
// Improved Approximate Detection of Duplicates for Data Streams over Sliding Windows,
// Journal of Computer Science and Technology 23(6), 2008), which GLN19, section 6.1,
// measures: a Bloom filter of counters. Every element sets its k counters to the largest
// value, 2^s - 1 for s bits. After each block of the stream, all counters above zero are
// decremented. An element is a duplicate if none of its counters is zero.
//
// It misses nothing within the window. It may report elements for up to one block more,
// apart from false positives.
//
// Interpretation: a block is ceil(W/(2^s-2)) elements, so that 2^s - 2 whole blocks cover
// the window wherever in its block an element came. Elements reported duplicate set their
// counters too, as the window is of elements and not of distinct elements. GLN19 gives
// neither k nor s. The authors' program takes k = s = ceil(sqrt(M ln(2)/W)), the best k
// for M/s counters, and blocks of ceil(W/(2^(s-1)-1)) elements, since it replaces
// decrements by a comparison with a running counter. While the running counter is zero,
// counters of zero pass the comparison, so the program reports everything in one of
// 2^(s-1) blocks: 12.5 of the 27.46 % printed for 100,000 bits. This filter does not do
// that.
type BDBF struct {
	hashed
	block int // elements of a block
	left  int // elements until the block is complete
}

var _ Filter = (*BDBF)(nil)

// NewBDBF returns an empty filter; errors wrap [ErrParameter].
func NewBDBF(c BDBFConfig) (*BDBF, error) {
	if err := cmp.Or(
		requireRange("CellBits", c.CellBits, 2, maxCellBits),
		requireRange("K", c.K, 1, maxHashes),
		requireRange("Bits", c.Bits, c.CellBits, maxBits),
		requireRange("Window", c.Window, 1, math.MaxInt),
	); err != nil {
		return nil, err
	}
	block := (c.Window-1)/(1<<c.CellBits-2) + 1
	return &BDBF{hashed: newHashed(c.Bits/c.CellBits, c.CellBits, c.K), block: block, left: block}, nil
}

// TestAndSet implements [Filter]. It takes time proportional to the memory once a block.
func (b *BDBF) TestAndSet(d digest.Digest) (seen bool) {
	seen = b.test(d)
	b.fill(b.pos)
	if b.left--; b.left == 0 {
		b.left = b.block
		for i := range b.count {
			b.add(i, down, 0)
		}
	}
	return seen
}
