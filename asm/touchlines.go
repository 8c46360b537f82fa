package asm

import "math/bits"

// touchLines finds the lines of up to 64 elements and loads a word of each, so
// that the cache misses of all of them run at the same time and not one after
// another between the branches of a kernel. It must stay a call: inlined,
// loads without a use would be left out.
//
//go:noinline
func touchLines(lines [][8]uint64, digests []Digest, index *[64]uint64) (sum uint64) {
	for i := range digests {
		at, _ := bits.Mul64(digests[i][1], uint64(len(lines)))
		index[i&63] = at
		sum += lines[at][0]
	}
	return sum
}
