package paper

import (
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// maxCellBits bounds a cell's width. Its largest value is then 65535, more than any use
// needs.
const maxCellBits = 16

// cells is an array of unsigned counters of width bits, packed without gaps: a cell may
// straddle two words. The caller keeps indexes below the count.
type cells struct {
	words []uint64
	width uint64
	top   uint64 // the largest value of a cell, 2^width - 1
}

// newCells returns count cells that are zero. count * width must be at most
// maxBits, width from 1 to 64.
func newCells(count, width int) cells {
	words := make([]uint64, (count*width+63)/64)
	adviseHugePages(words)
	return cells{
		words: words,
		width: uint64(width),
		top:   1<<width - 1,
	}
}

func (c *cells) get(i uint64) uint64 {
	bit := i * c.width
	word, shift := bit/64, bit%64
	value := c.words[word] >> shift
	if shift+c.width > 64 {
		value |= c.words[word+1] << (64 - shift)
	}
	return value & c.top
}

// load reads the word that cell i begins in.
func (c *cells) load(i uint64) uint64 { return c.words[i*c.width/64] }

// put stores value, at most c.top, in cell i.
func (c *cells) put(i, value uint64) {
	bit := i * c.width
	word, shift := bit/64, bit%64
	c.words[word] = c.words[word]&^(c.top<<shift) | value<<shift
	if shift+c.width > 64 {
		shift = 64 - shift
		c.words[word+1] = c.words[word+1]&^(c.top>>shift) | value>>shift
	}
}

// decrement takes one off cell i unless it is zero.
func (c *cells) decrement(i uint64) {
	if value := c.get(i); value > 0 {
		c.put(i, value-1)
	}
}

// positions fills pos with the values of len(pos) hash functions of range [0,m)
// by enhanced double hashing (Dillinger, Manolios, Bloom Filters in
// Probabilistic Verification, FMCAD 2004, section 5.2):
//
//	pos[i] = x + i y + (i^3-i)/6 mod m
//
// where x and y are the digest's halves, each mapped to [0,m). Plain double hashing gives
// some pairs of x and y the same set in another order. The cubic term keeps these
// elements apart. m is from 1 to 2^62.
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

// independentPositions fills pos with the values of len(pos) hash functions of range
// [0,m) that are independent of each other, as sliced filters need them. With the double
// hashing of [positions], one in some hundred elements has all its bits close together or
// at regular distances. In one array this is harmless. In slices such bits all lie in
// failed ones far more often than by chance.
func independentPositions(pos []uint64, d digest.Digest, m uint64) {
	step := uint64(0)
	for i := range pos {
		step += golden
		pos[i] = scale(SplitMix(d[0]^SplitMix(d[1]+step)), m)
	}
}

// golden is 2^64 over the golden ratio, the step of the SplitMix64 generator.
const golden = 0x9e3779b97f4a7c15

// SplitMix is the output function of the SplitMix64 generator (Steele, Lea, Flood,
// Fast Splittable Pseudorandom Number Generators, OOPSLA 2014), a bijection.
func SplitMix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// newRandom returns the generator of a filter's random choices. Each filter has its own,
// so its run does not depend on what else runs.
func newRandom(seed uint64) *rand.Rand { return rand.New(newSource(seed)) }

func newSource(seed uint64) *rand.PCG {
	return rand.NewPCG(seed, golden) // any constant as the second half of the state
}
