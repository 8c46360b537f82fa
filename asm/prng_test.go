package asm

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// TestPRNG compares with what the formula of draw gives in another language, in
// integers of any size.
func TestPRNG(t *testing.T) {
	for _, c := range []struct{ low, position, r1, r2 uint64 }{
		{0x0, 0x0, 0x0, 0x0},
		{0x0, 0x1, 0xbb4d54d44c104064, 0xd66f0f541be4e401},
		{0x1, 0x0, 0xbc3b1b1c5aae1be6, 0x71894de00d9981f},
		{0xffffffffffffffff, 0xffffffffffffffff, 0xc02f4e7f177997b5, 0xe44db9ec77857e4b},
		{0x123456789abcdef, 0x3039, 0xea9f0811bb6deb7b, 0x1cd51de9ec51f517},
		{0x8000000000000000, 0x10000000000, 0x72d760ffebd021fe, 0x837401c88fdfc142},
	} {
		if r1 := prng(c.low, c.position); r1 != c.r1 || prngNext(r1) != c.r2 {
			t.Errorf("%#x at %#x: %#x, then %#x, want %#x, then %#x", c.low, c.position, r1, prngNext(r1), c.r1, c.r2)
		}
	}
}

// TestPRNGAvalanche changes a bit of the digest or the position: each bit of both
// words changes in half of the cases. Of 1,024 cases the share has a
// standard deviation of 0.0157; six of them are allowed for the 16,384 pairs of bits.
func TestPRNGAvalanche(t *testing.T) {
	const cases = 1 << 10
	rng := rand.New(rand.NewPCG(21, 22))
	for bit := range 128 {
		var changed [128]int
		for range cases {
			low, position := rng.Uint64(), rng.Uint64()
			r1 := prng(low, position)
			other := prng(low^1<<(bit%64)*uint64(1-bit/64), position^1<<(bit%64)*uint64(bit/64))
			count(&changed, 0, r1^other)
			count(&changed, 64, prngNext(r1)^prngNext(other))
		}
		for to, n := range changed {
			if share := float64(n) / cases; share < 0.5-6*0.0157 || share > 0.5+6*0.0157 {
				t.Errorf("bit %d changes bit %d in %.3f of the cases", bit, to, share)
			}
		}
	}
}

// count adds the bits of word to counts, from the one at from on.
func count(counts *[128]int, from int, word uint64) {
	for ; word != 0; word &= word - 1 {
		counts[from+bits.TrailingZeros64(word)]++
	}
}
