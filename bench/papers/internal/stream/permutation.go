package stream

import "math/bits"

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
