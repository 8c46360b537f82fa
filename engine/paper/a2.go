package paper

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"math"
)

// A2 is the aging Bloom filter with two active buffers (Yoon, IEEE Transactions on
// Knowledge and Data Engineering 22(1), 2010), which paper "Quotient Hash Tables -
// Efficiently Detecting Duplicates in Streaming Data" (Géraud, Lombard-Platet,
// Naccache, SAC 2019), section 6.1, measures. Two Bloom filters share the memory. An
// element in the first is a duplicate and changes nothing. Any other goes into the
// first, and is a duplicate if it is in the second. When the first has taken
// capacity elements, the second is cleared and the two change places. So an element
// is found again at least until capacity others were inserted.
//
// Readings taken: the change takes place before the insertion that would be one
// too many, so the first buffer is never without the latest element. The columns that
// the SAC paper prints, 38 % false positives where 10 % were asked for, are those of
// k = 2 and buffers that change when half of their bits are set, a capacity of
// (m/2) ln(2): of two such buffers 7/16 of the new elements are reported when both are
// full. The authors' program takes k = floor(-ln(f)) for a buffer's rate f, where
// half full buffers need k = -log2(f), which is above 4. [NewA2ForRate] keeps to the
// target.
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

// NewA2ForRate returns an empty filter whose false positive rate is target, above 0
// and below 1, when both buffers are full, and lower before. Each buffer's rate is
// then f = 1 - sqrt(1-target), and x = f^(1/k) of its bits are set; k is -log2(f),
// rounded. Only elements that the buffer does not hold are inserted, which sets
// k(1-x)/(1-x^k) more bits on average, more than in a plain Bloom filter; so a buffer
// of m bits takes (m/k) (x + x^2/2 + ... + x^k/k) of them, but at least one. Errors
// wrap [ErrParameter].
func NewA2ForRate(bits int, target float64) (*A2, error) {
	if err := requireShare("target", target); err != nil {
		return nil, err
	}
	// f as target / (1 + sqrt(1-target)), which loses no digits when target is small.
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
