// Package stream makes the synthetic streams of elements that the experiments
// share, and counts a filter's errors on them.
//
// Elements are numbers. Filters see their [Digest].
package stream

import (
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/zipf"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// Zipf draws elements from 0 to n-1, element i with a probability proportional to
// (i+1)^-alpha.
type Zipf struct {
	ranks  *zipf.Sampler
	random *rand.PCG
}

// NewZipf returns a generator over n elements, 1 to [zipf.MaxRanks], with
// alpha >= 0; 0 is uniform. It takes 8 n bytes.
func NewZipf(n int, alpha float64, seed uint64) *Zipf {
	return &Zipf{zipf.New(n, alpha), rand.NewPCG(seed, 0)}
}

// Next draws an element, in constant time.
func (z *Zipf) Next() uint64 { return uint64(z.ranks.Draw(z.random.Uint64())) }

// Shuffled is the stream of the tables of Bera et al., 2012: distinct elements, each at
// least once, and n - distinct more copies of uniformly chosen ones, all in random order.
// Independent draws give other miss rates.
//
// The order is a keyed permutation of the positions, not a shuffled array, so a stream of
// a billion elements takes no memory.
type Shuffled struct {
	n, distinct uint64
	position    uint64
	order       permutation
	seed        uint64
}

// NewShuffled returns the stream of n elements, of which 1 <= distinct <= n
// differ.
func NewShuffled(n, distinct int, seed uint64) *Shuffled {
	return &Shuffled{n: uint64(n), distinct: uint64(distinct), order: newPermutation(uint64(n), seed), seed: seed}
}

// Next returns the next element, from 0 to distinct-1; ok is false at the end.
func (s *Shuffled) Next() (element uint64, ok bool) {
	if s.position == s.n {
		return 0, false
	}
	slot := s.order.at(s.position)
	s.position++
	if slot < s.distinct {
		return slot, true
	}
	high, _ := bits.Mul64(mix(slot^mix(s.seed+1)), s.distinct)
	return high, true
}

// permutation is a keyed bijection of the numbers below n: a Feistel network of
// four rounds over the next even number of bits, walked until it ends below n
// (Black, Rogaway, Ciphers with Arbitrary Finite Domains, 2002).
type permutation struct {
	n    uint64
	half uint // bits of one half
	keys [4]uint64
}

// newPermutation returns the permutation of the numbers below n, from 1 to 2^62.
func newPermutation(n, seed uint64) permutation {
	p := permutation{n: n, half: uint(bits.Len64(n-1)+1) / 2}
	for i := range p.keys {
		p.keys[i] = mix(seed ^ mix(uint64(i)+1))
	}
	return p
}

// at returns where i, below n, goes. It takes less than four walks on average.
func (p *permutation) at(i uint64) uint64 {
	for {
		if i = p.scramble(i); i < p.n {
			return i
		}
	}
}

func (p *permutation) scramble(i uint64) uint64 {
	mask := uint64(1)<<p.half - 1
	left, right := i>>p.half, i&mask
	for _, key := range p.keys {
		left, right = right, left^mix(right^key)&mask
	}
	return left<<p.half | right
}

// Digest replaces the keyed hash of an element by 128 bits from two rounds of
// SplitMix64's mixer. It costs a few nanoseconds, and a keyed hash would be no more
// uniform on numbers.
func Digest(element uint64) digest.Digest {
	return digest.Digest{mix(2*element + 1), mix(2*element + 2)}
}

func mix(x uint64) uint64 { return paper.SplitMix(x * 0x9e3779b97f4a7c15) }
