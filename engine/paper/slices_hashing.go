package paper

import "github.com/flowdedup/flowdedup/asm/digest"

// independentPositions fills pos with the values of len(pos) hash functions of range
// [0,m) that are independent of each other, as sliced filters need them. With
// the double hashing of [positions] all of an element's bits lie close
// together, or at regular distances, in one of some hundred elements: harmless in one
// array, but then they are all in failed slices far more often than by chance.
func independentPositions(pos []uint64, d digest.Digest, m uint64) {
	const golden = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio, the generator's step
	step := uint64(0)
	for i := range pos {
		step += golden
		pos[i] = scale(splitMix(d[0]^splitMix(d[1]+step)), m)
	}
}

// splitMix is the output function of the SplitMix64 generator (Steele, Lea, Flood,
// Fast Splittable Pseudorandom Number Generators, OOPSLA 2014), a bijection.
func splitMix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
