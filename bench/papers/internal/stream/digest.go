package stream

import "github.com/flowdedup/flowdedup/asm/digest"

// Digest stands for an element's keyed hash: 128 bits from two rounds of
// SplitMix64's mixer (Steele, Lea, Flood, 2014). It costs a few nanoseconds,
// while a keyed hash would not be any more uniform on numbers.
func Digest(element uint64) digest.Digest {
	return digest.Digest{mix(2*element + 1), mix(2*element + 2)}
}

func mix(x uint64) uint64 {
	x *= 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
