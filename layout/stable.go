package layout

// A line of a stable Bloom filter of bits is divided into K parts. Part j is the s =
// floor(512/K) bits from bit j*s on; bit b of a line is bit b mod 64 of word b/64. With K = 3
// the line's last two bits stay unused.
const (
	// LineBits is the number of bits in a line.
	LineBits = 512
	// MaxStableParts is the most parts of a line: each takes 16 of the 64 bits of
	// a digest's low half.
	MaxStableParts = 4
	// MaxStableRun is the most adjacent bits that StableSBF clears for an element.
	MaxStableRun = 64
)
