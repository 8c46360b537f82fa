package asm

// A line of a stable Bloom filter of bits is divided into K parts. Part j is the s =
// floor(512/K) bits from bit j*s on; bit b of a line is bit b mod 64 of word b/64. With K = 3
// the line's last two bits stay unused.
const (
	// lineBits is the number of bits in a line.
	lineBits = 512
	// MaxBitParts is the most parts of a line: each takes 16 of the 64 bits of
	// a digest's low half.
	MaxBitParts = 4
	// MaxBitRun is the most adjacent bits that BitsSBF clears for an element.
	MaxBitRun = 64
)
