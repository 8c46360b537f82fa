package rivals

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"math/bits"
)

// hashes is where an element goes: its line, and the source of its positions
// there.
type hashes struct {
	line uint64
	seed uint64
}

// hashesOf chooses the line by multiply-shift of one half of the digest. What that
// leaves of it, and the other half, give the positions.
func hashesOf(d digest.Digest, lines int) hashes {
	line, rest := bits.Mul64(d[1], uint64(lines))
	return hashes{line: line, seed: d[0] ^ bits.RotateLeft64(rest, 32)}
}

// at returns the value, below m, of the element's hash function number i: number i
// of the SplitMix64 sequence (Steele, Lea, Flood, 2014). Double hashing would not
// do, since lines have too few positions for two of them to tell elements apart.
func (p hashes) at(i int, m uint64) uint64 {
	x := p.seed + uint64(i+1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	high, _ := bits.Mul64(x^x>>31, m)
	return high
}

// fingerprintOf returns the fingerprint of width bits, from 1 to 64, that is stored
// for an element: uniform over 2^width - 1 values, since 0 is an empty cell.
func fingerprintOf(d digest.Digest, width int) uint64 {
	high, _ := bits.Mul64(d[0], ^uint64(0)>>(64-width))
	return high + 1
}
