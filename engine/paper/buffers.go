// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"cmp"
	"container/list"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// LRU is the buffering method of DR06, sections 2.2 and 5.2 ("Buffering Implementation"):
// a buffer of elements, in which a new element replaces the least recently used. It has
// no false positives.
//
// Interpretation: "used" means that the element arrived, found or not. The filter
// compares the whole digest, but accounts for memory as the paper does: the element's own
// bits (64 for its web pages, 32 for its synthetic data), without the hash table and the
// list.
type LRU struct {
	elementBits int
	capacity    int
	index       map[digest.Digest]*list.Element
	recent      *list.List // the digests, the most recently used first
}

var _ Filter = (*LRU)(nil)

// NewLRU returns an empty buffer of bits/elementBits elements, at least one. elementBits
// is from 1 to 128, bits at most 2^38; errors wrap [ErrParameter].
func NewLRU(bits, elementBits int) (*LRU, error) {
	if err := requireBuffer(bits, elementBits); err != nil {
		return nil, err
	}
	return &LRU{
		elementBits: elementBits,
		capacity:    bits / elementBits,
		index:       make(map[digest.Digest]*list.Element),
		recent:      list.New(),
	}, nil
}

func requireBuffer(bits, elementBits int) error {
	return cmp.Or(
		requireRange("element bits", elementBits, 1, 128),
		requireRange("bits", bits, elementBits, maxBits),
	)
}

// TestAndSet implements [Filter].
func (l *LRU) TestAndSet(d digest.Digest) (seen bool) {
	if element, seen := l.index[d]; seen {
		l.recent.MoveToFront(element)
		return true
	}
	if l.recent.Len() == l.capacity {
		delete(l.index, l.recent.Remove(l.recent.Back()).(digest.Digest))
	}
	l.index[d] = l.recent.PushFront(d)
	return false
}

// Bits implements [Filter].
func (l *LRU) Bits() int { return l.capacity * l.elementBits }

// Clock is the buffering method of DR06 with the replacement that section 5.2 names beside LRU
// (Broder, Najork, Wiener, "Efficient URL Caching for World Wide Web Crawling", WWW 2003): a
// ring of elements with a bit each, which is set when the element is used. A new element
// replaces the next element whose bit is clear, and clears the bits on the way. It has no false
// positives. Memory is accounted for as with [LRU], without the bits.
//
// Interpretation: a new element's bit is set, as it is used then.
type Clock struct {
	elementBits int
	capacity    int
	index       map[digest.Digest]int // places in ring
	ring        []digest.Digest
	used        []bool
	hand        int // the place that is looked at next
}

var _ Filter = (*Clock)(nil)

// NewClock returns an empty buffer. Arguments and errors are as in [NewLRU].
func NewClock(bits, elementBits int) (*Clock, error) {
	if err := requireBuffer(bits, elementBits); err != nil {
		return nil, err
	}
	return &Clock{elementBits: elementBits, capacity: bits / elementBits, index: make(map[digest.Digest]int)}, nil
}

// TestAndSet implements [Filter].
func (c *Clock) TestAndSet(d digest.Digest) (seen bool) {
	if at, seen := c.index[d]; seen {
		c.used[at] = true
		return true
	}
	if len(c.ring) < c.capacity {
		c.index[d] = len(c.ring)
		c.ring, c.used = append(c.ring, d), append(c.used, true)
		return false
	}
	for c.used[c.hand] {
		c.used[c.hand] = false
		c.advance()
	}
	delete(c.index, c.ring[c.hand])
	c.ring[c.hand], c.used[c.hand], c.index[d] = d, true, c.hand
	c.advance()
	return false
}

func (c *Clock) advance() { c.hand = (c.hand + 1) % c.capacity }

// Bits implements [Filter].
func (c *Clock) Bits() int { return c.capacity * c.elementBits }

// FPBuffering is the FPbuffering of DR06, section 5.2: a buffer that reports an element that it
// does not hold as seen with probability q. So q is its false positive rate, and it misses 1-q
// of what the buffer misses.
type FPBuffering struct {
	buffer *LRU
	q      float64
	random *rand.Rand
}

var _ Filter = (*FPBuffering)(nil)

// NewFPBuffering returns an empty buffer. q is from 0 to below 1, the other arguments and the
// errors are as in [NewLRU].
func NewFPBuffering(bits, elementBits int, q float64, seed uint64) (*FPBuffering, error) {
	if err := requireShare("q", q); err != nil {
		return nil, err
	}
	buffer, err := NewLRU(bits, elementBits)
	if err != nil {
		return nil, err
	}
	return &FPBuffering{buffer, q, newRandom(seed)}, nil
}

// TestAndSet implements [Filter].
func (f *FPBuffering) TestAndSet(d digest.Digest) (seen bool) {
	return f.buffer.TestAndSet(d) || f.random.Float64() < f.q
}

// Bits implements [Filter].
func (f *FPBuffering) Bits() int { return f.buffer.Bits() }
