package paper

import (
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// LandmarkConfig is what a Bloom filter over landmark windows is made from.
type LandmarkConfig struct {
	Bits        int  // M, at least 1, or D if partitioned; at most 2^38
	D           int  // hash functions, from 1 to 1024
	Window      int  // N, elements from one landmark to the next, from 1
	Partitioned bool // a hash space of floor(Bits/D) bits for each function
}

func (c LandmarkConfig) validate() error {
	if err := requireRange("D", c.D, 1, maxHashes); err != nil {
		return err
	}
	least := 1
	if c.Partitioned {
		least = c.D
	}
	if err := requireRange("bits", c.Bits, least, maxBits); err != nil {
		return err
	}
	return requireRange("window", c.Window, 1, math.MaxInt)
}

// LandmarkBloom is the Bloom filter over landmark windows of paper "Duplicate Detection
// in Click Streams" (Metwally, Agrawal, El Abbadi, WWW 2005), section 5.2.1 and 5.2.2: an
// element is a duplicate unless it switches at least one of its d bits from 0 to 1. Each
// landmark clears all bits. The functions share one hash space (Figure 4) or have one
// each (Figure 5); the rates differ by the order of d/M only. It misses no duplicate
// whose earlier occurrence lies in the same landmark window.
//
// Interpretation: landmarks are counted in elements, duplicates included (section 3.2
// also has times). The first element of the next window clears the bits, so the state
// after a whole window can be inspected. Functions with hash spaces of their own have
// floor(M/d) bits each, which leaves up to d-1 bits unused.
type LandmarkBloom struct {
	bits   cells
	size   int    // M, of the bits in use
	space  uint64 // the range of a hash function
	stride uint64 // from the start of a function's hash space to the next one's
	window int
	count  int // elements since the landmark
	pos    []uint64
}

var _ Filter = (*LandmarkBloom)(nil)

// NewLandmarkBloom returns an empty filter at its first landmark. Errors wrap
// [ErrParameter].
func NewLandmarkBloom(c LandmarkConfig) (*LandmarkBloom, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	l := &LandmarkBloom{size: c.Bits, space: uint64(c.Bits), window: c.Window, pos: make([]uint64, c.D)}
	if c.Partitioned {
		l.space = uint64(c.Bits / c.D)
		l.stride = l.space
		l.size = c.D * int(l.space)
	}
	l.bits = newCells(l.size, 1)
	return l, nil
}

// TestAndSet implements [Filter]. It takes time proportional to the memory once a
// window.
func (l *LandmarkBloom) TestAndSet(d digest.Digest) (seen bool) {
	if l.count == l.window {
		clear(l.bits.words)
		l.count = 0
	}
	l.count++
	positions(l.pos, d, l.space)
	seen = true
	for function, i := range l.pos {
		i += uint64(function) * l.stride
		if l.bits.get(i) == 0 {
			seen = false
			l.bits.put(i, 1)
		}
	}
	return seen
}

// Bits implements [Filter]: the bits in use.
func (l *LandmarkBloom) Bits() int { return l.size }
