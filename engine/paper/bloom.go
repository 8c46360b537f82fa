// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// Bloom is the Bloom filter of DR06, section 2.3: one array of m bits shared by K hash
// functions, without any removal. It misses no duplicate; its false positive rate rises
// to 1.
//
// Interpretation: the text says that the paper's measurements used the best K for the
// number of distinct elements, but the printed rates (Table 2) belong to K = 2
// throughout. So K is a parameter here; the best K is next to ln(2) bits for each element.
//
// With landmarks, as [NewLandmarkBloom] makes it, it is the filter over landmark windows
// of MAE05, section 5.2.1 and 5.2.2. Each landmark clears all bits. The functions share
// one hash space (Figure 4) or have one each (Figure 5); the rates differ by the order of
// d/M only. It misses no duplicate whose earlier occurrence lies in the same landmark
// window.
//
// Interpretation: landmarks are counted in elements, duplicates included (section 3.2
// also has times). The first element of the next window clears the bits, so the state
// after a whole window can be inspected. Functions with hash spaces of their own have
// floor(M/d) bits each, which leaves up to d-1 bits unused.
type Bloom struct {
	hashed
	window int // elements from one landmark to the next
	came   int // elements since the landmark
	ones   int // bits that are set
}

var _ Filter = (*Bloom)(nil)

// NewBloom returns an empty filter of m bits and k hash functions. m is from 1
// to 2^38, k from 1 to 1024; errors wrap [ErrParameter].
func NewBloom(m, k int) (*Bloom, error) {
	return NewLandmarkBloom(LandmarkConfig{Bits: m, D: k, Window: math.MaxInt})
}

// LandmarkConfig configures a Bloom filter over landmark windows.
type LandmarkConfig struct {
	Bits        int  // M, at least 1, or D if partitioned; at most 2^38
	D           int  // hash functions, from 1 to 1024
	Window      int  // N, elements from one landmark to the next, from 1
	Partitioned bool // a hash space of floor(Bits/D) bits for each function
}

// NewLandmarkBloom returns an empty filter at its first landmark. Errors wrap
// [ErrParameter].
func NewLandmarkBloom(c LandmarkConfig) (*Bloom, error) {
	least := 1
	if c.Partitioned {
		least = c.D
	}
	if err := cmp.Or(
		requireRange("hash functions", c.D, 1, maxHashes),
		requireRange("bits", c.Bits, least, maxBits),
		requireRange("window", c.Window, 1, math.MaxInt),
	); err != nil {
		return nil, err
	}
	if c.Partitioned {
		return &Bloom{hashed: newPartitioned(c.Bits/c.D, c.D), window: c.Window}, nil
	}
	b := newBloom(c.Bits, c.D)
	b.window = c.Window
	return b, nil
}

// newBloom is [NewBloom] for possible parameters.
func newBloom(m, k int) *Bloom { return &Bloom{hashed: newHashed(m, 1, k), window: math.MaxInt} }

// TestAndSet implements [Filter]. It takes time proportional to the memory once a window.
func (b *Bloom) TestAndSet(d digest.Digest) (seen bool) {
	if b.came == b.window {
		b.empty()
	}
	b.came++
	if seen = b.test(d); !seen {
		b.mark()
	}
	return seen
}

// empty clears all bits.
func (b *Bloom) empty() {
	clear(b.words)
	b.came, b.ones = 0, 0
}

// A Bloom is a layer without time.

func (b *Bloom) advance(uint64) {}

func (b *Bloom) set(d digest.Digest, _ uint64) {
	b.locate(d)
	b.mark()
}

// mark sets the bits of the element located last.
func (b *Bloom) mark() {
	for _, i := range b.pos {
		if b.get(i) == 0 {
			b.put(i, 1)
			b.ones++
		}
	}
}

func (b *Bloom) since(digest.Digest) uint64 { return 0 }

func (b *Bloom) occupied() int { return b.ones }

// NewSubstrings returns the intermediate solution of MAE05, section 4, Figure 3, without an
// element: an ID of b bits has a substring of p bits from each of the bits 0, 1, ... b-p on.
// Each of these positions has a vector of 2^p bits, which flags the substrings that came. An
// element with a new substring is new; any other is reported as a duplicate. It misses no
// duplicate.
//
// Neighboring substrings share all but one bit, so an element that agrees with another element in
// one substring agrees in the next with probability 1/2. The error rate is therefore far
// above the rate of as many independent hash functions, and the paper prefers these; see
// [NewLandmarkBloom] with Partitioned set.
//
// With p = b there is one vector of 2^b bits, the exact solution of Figure 2. Long IDs rule
// that out: the paper's clicks would need 2^512.
//
// Interpretation: the ID is the low b bits of the digest, whose low half is d[0], because
// [Filter] carries nothing else; so b is at most 128, while the paper's clicks have 512.
// Pass numbers below 2^b as digest.Digest{element, 0}. The bits last for one landmark
// window, as in section 4.
//
// idBits is b, from 1 to 128, and length is p, from 1 to b. The memory, 2^p (b-p+1) bits, is
// at most 2^38. Errors wrap [ErrParameter].
func NewSubstrings(idBits, length int) (*Bloom, error) {
	most := min(idBits, bits.Len(maxBits)-1)
	for most > 1 && idBits-most+1 > maxBits>>most {
		most--
	}
	if err := cmp.Or(
		requireRange("ID bits", idBits, 1, 128),
		requireRange("substring length", length, 1, most),
	); err != nil {
		return nil, err
	}
	b := &Bloom{hashed: newPartitioned(1<<length, idBits-length+1), window: math.MaxInt}
	b.hash = func(pos []uint64, d digest.Digest, _ uint64) { // in place of hash functions
		for from := range pos {
			pos[from] = substring(d, from, length)
		}
	}
	return b, nil
}

// substring returns length bits, fewer than 64, of the digest, from bit from on; bit 0 is
// the lowest of d[0], bit 127 the highest of d[1].
func substring(d digest.Digest, from, length int) uint64 {
	// Shifts by 64 and more give 0, so each half adds its part of the substring.
	value := d[0]>>from | d[1]<<(64-min(from, 64))
	if from > 64 {
		value = d[1] >> (from - 64)
	}
	return value & (1<<length - 1)
}
