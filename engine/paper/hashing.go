package paper

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"math/bits"
	"math/rand/v2"
)

// positions fills pos with the values of len(pos) hash functions of range [0,m)
// by enhanced double hashing (Dillinger, Manolios, Bloom Filters in
// Probabilistic Verification, FMCAD 2004, section 5.2):
//
//	pos[i] = x + i y + (i^3-i)/6 mod m
//
// where x and y are the digest's halves, each mapped to [0,m). The cubic term
// keeps elements apart whose x and y would give the same set under double
// hashing, in another order. m is from 1 to 2^62.
func positions(pos []uint64, d digest.Digest, m uint64) {
	x, y := scale(d[1], m), scale(d[0], m)
	for i := range pos {
		pos[i] = x
		if x += y; x >= m {
			x -= m
		}
		if y += uint64(i) + 1; y >= m {
			y %= m
		}
	}
}

// scale maps a uniform 64-bit value to [0,m) by its high bits.
func scale(x, m uint64) uint64 {
	high, _ := bits.Mul64(x, m)
	return high
}

// newRandom returns the generator of a filter's random choices. It is a
// filter's own, so that a filter's run does not depend on what else runs.
func newRandom(seed uint64) *rand.Rand { return rand.New(newSource(seed)) }

func newSource(seed uint64) *rand.PCG {
	const stream = 0x9e3779b97f4a7c15 // any constant: the second half of PCG's state
	return rand.NewPCG(seed, stream)
}
