// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"encoding/binary"
	"math/bits"
)

// highwayState is the state of the hash: v0, v1, mul0 and mul1, four words each.
type highwayState [4][4]uint64

// newHighwayState returns the state before the first packet (Alakuijala, Cox,
// Wassenberg, section 2; the constants are digits of pi).
func newHighwayState(key [32]byte) (s highwayState) {
	s[2] = [4]uint64{0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344, 0x243f6a8885a308d3}
	s[3] = [4]uint64{0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c, 0x452821e638d01377}
	for i := range 4 {
		word := binary.LittleEndian.Uint64(key[8*i:])
		s[0][i] = s[2][i] ^ word
		s[1][i] = s[3][i] ^ bits.RotateLeft64(word, 32)
	}
	return s
}

// pastHeader adds words 2 and 3 of the packet with the header to the state. They are
// zero, and only the final rounds mix these words with the first two, so the result does
// not depend on the message.
func (s *highwayState) pastHeader() {
	v0, v1, mul0, mul1 := &s[0], &s[1], &s[2], &s[3]
	for i := 2; i < 4; i++ {
		v1[i] += mul0[i]
		mul0[i] ^= v1[i] & (1<<32 - 1) * (v0[i] >> 32)
		v0[i] += mul1[i]
		mul1[i] ^= v0[i] & (1<<32 - 1) * (v1[i] >> 32)
	}
	addZipped(v0[2:], v1[2:])
	addZipped(v1[2:], v0[2:])
}

// zipper is the order of the 16 bytes of two words after a zipper merge.
var zipper = [16]byte{3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7}

// addZipped adds the zipper merge of two words to two others.
func addZipped(sum, words []uint64) {
	var in, out [16]byte
	binary.LittleEndian.PutUint64(in[:8], words[0])
	binary.LittleEndian.PutUint64(in[8:], words[1])
	for i, from := range zipper {
		out[i] = in[from]
	}
	sum[0] += binary.LittleEndian.Uint64(out[:8])
	sum[1] += binary.LittleEndian.Uint64(out[8:])
}
