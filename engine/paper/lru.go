package paper

import (
	"math"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
)

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

// FPBuffer is the FPbuffering method of paper "Approximately Detecting Duplicates for
// Streaming Data using Stable Bloom Filters" (Deng, Rafiei, SIGMOD 2006), section 5.2
// ("FPbuffering Implementation"): buffering ([LRU]) that reports an element which it did
// not find as a duplicate with probability q. It trades misses for false positives. So
// buffering can be compared at an equal false positive rate with filters that have both.
//
// Interpretation: an element reported as a duplicate by chance enters the buffer like any
// other. So the false positive rate is q, and the false negative rate (1-q) times that of
// the buffer, as in the paper's Table 2.
type FPBuffer struct {
	buffer *LRU
	q      float64
	random *rand.Rand
}

var _ Filter = (*FPBuffer)(nil)

// NewFPBuffer returns an empty buffer as [NewLRU] does. q is from 0 to below 1;
// errors wrap [ErrParameter].
func NewFPBuffer(bits, elementBits int, q float64, seed uint64) (*FPBuffer, error) {
	if err := requireShare("q", q); err != nil {
		return nil, err
	}
	buffer, err := NewLRU(bits, elementBits)
	if err != nil {
		return nil, err
	}
	return &FPBuffer{buffer: buffer, q: q, random: newRandom(seed)}, nil
}

// TestAndSet implements [Filter].
func (f *FPBuffer) TestAndSet(d digest.Digest) (seen bool) {
	return f.buffer.TestAndSet(d) || f.random.Float64() < f.q
}

// Bits implements [Filter].
func (f *FPBuffer) Bits() int { return f.buffer.Bits() }
