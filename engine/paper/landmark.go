package paper

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// Substrings is the intermediate solution of paper "Duplicate Detection in Click Streams"
// (Metwally, Agrawal, El Abbadi, WWW 2005), section 4, Figure 3: an ID of b bits has a
// substring of p bits from each of the bits 0, 1, ... b-p on. Each of these positions has
// a vector of 2^p bits, which flags the substrings that came. An element with a new
// substring is new; any other is reported as a duplicate. It misses no duplicate.
//
// Neighboring substrings share all but one bit, so an element that agrees with another in
// one of them agrees in the next with probability 1/2. The error rate is therefore far
// above that of as many independent hash functions, and the paper prefers these; see
// [LandmarkBloom] with Partitioned set.
//
// With p = b there is one vector of 2^b bits, the exact solution of Figure 2. Long IDs rule
// that out: the paper's clicks would need 2^512.
//
// Interpretation: the ID is the low b bits of the digest, whose low half is d[0], because
// [Filter] carries nothing else; so b is at most 128, while the paper's clicks have 512.
// Pass numbers below 2^b as digest.Digest{element, 0}. The bits last for one landmark
// window, as in section 4.
type Substrings struct {
	flags  cells // of all vectors, one after the other
	count  int   // vectors, b-p+1
	length int   // p
}

var _ Filter = (*Substrings)(nil)

// NewSubstrings returns a filter without an element for IDs of idBits bits, from 1 to
// 128, and their substrings of length bits, from 1 to idBits. Its memory, 2^length
// (idBits-length+1) bits, is at most 2^38. Errors wrap [ErrParameter].
func NewSubstrings(idBits, length int) (*Substrings, error) {
	if err := requireRange("ID bits", idBits, 1, 128); err != nil {
		return nil, err
	}
	most := min(idBits, bits.Len(maxBits)-1)
	for most > 1 && idBits-most+1 > maxBits>>most {
		most--
	}
	if err := requireRange("substring length", length, 1, most); err != nil {
		return nil, err
	}
	count := idBits - length + 1
	return &Substrings{flags: newCells(count<<length, 1), count: count, length: length}, nil
}

// TestAndSet implements [Filter].
func (s *Substrings) TestAndSet(d digest.Digest) (seen bool) {
	seen = true
	for from := range s.count {
		i := uint64(from)<<s.length | substring(d, from, s.length)
		if s.flags.get(i) == 0 {
			seen = false
			s.flags.put(i, 1)
		}
	}
	return seen
}

// Bits implements [Filter].
func (s *Substrings) Bits() int { return s.count << s.length }

// substring returns length bits, fewer than 64, of the digest, from bit from on; bit 0 is
// the lowest of d[0], bit 127 the highest of d[1].
func substring(d digest.Digest, from, length int) uint64 {
	// Shifts by 64 and more give 0, so each half adds what it has of the substring.
	value := d[0]>>from | d[1]<<(64-min(from, 64))
	if from > 64 {
		value = d[1] >> (from - 64)
	}
	return value & (1<<length - 1)
}

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
