package asm

import (
	"encoding/binary"
	"math/bits"
)

// highwayState is the hash's state: v0, v1, mul0 and mul1, four words each.
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

// finalPacket makes the packet that the last 1 to 31 bytes of a message become:
// whole words of 32 bits stay where they are; of what follows, 16 bytes or more
// put the last four bytes at the end, and less put up to three bytes, repeated, in
// the fifth word.
func finalPacket(packet *[4]uint64, p []byte) {
	n := len(p)
	*packet = [4]uint64{}
	at := 0
	for ; at+8 <= n; at += 8 {
		packet[at/8] = binary.LittleEndian.Uint64(p[at:])
	}
	if n&4 != 0 {
		packet[at/8] = uint64(binary.LittleEndian.Uint32(p[at:]))
	}
	switch {
	case n&16 != 0:
		packet[3] |= uint64(binary.LittleEndian.Uint32(p[n-4:])) << 32
	case n&3 != 0:
		whole := n &^ 3
		packet[2] = uint64(p[whole]) | uint64(p[whole+n&3>>1])<<8 | uint64(p[n-1])<<16
	}
}
