// SPDX-License-Identifier: Apache-2.0

package digest

import "encoding/binary"

// aesSchedule has the 11 round keys of AES-128.
type aesSchedule [11][16]byte

// newAESSchedule expands a key (FIPS 197, section 5.2).
func newAESSchedule(key [16]byte) *aesSchedule {
	s := new(aesSchedule)
	s[0] = key
	constant := byte(1)
	for round := 1; round < len(s); round++ {
		last := &s[round-1]
		// The last word, rotated by a byte and substituted, with the constant of
		// the round in its first byte.
		word := [4]byte{aesSBox[last[13]] ^ constant, aesSBox[last[14]], aesSBox[last[15]], aesSBox[last[12]]}
		previous := binary.LittleEndian.Uint32(word[:])
		for i := 0; i < 16; i += 4 {
			previous ^= binary.LittleEndian.Uint32(last[i:])
			binary.LittleEndian.PutUint32(s[round][i:], previous)
		}
		constant = timesX(constant)
	}
	return s
}

// aesSBox is the S-box of AES: the inverse in GF(2^8), then an affine map (FIPS 197,
// section 5.1.1). 3 generates the multiplicative group of the field, and its inverse is
// 0xf6.
var aesSBox = func() (box [256]byte) {
	box[0] = 0x63
	power, inverse := byte(1), byte(1)
	for range 255 {
		b := inverse
		box[power] = b ^ rotate(b, 1) ^ rotate(b, 2) ^ rotate(b, 3) ^ rotate(b, 4) ^ 0x63
		power ^= timesX(power)
		inverse = divideBy3(inverse)
	}
	return box
}()

// timesX multiplies by x in GF(2^8) modulo x^8+x^4+x^3+x+1.
func timesX(b byte) byte {
	return b<<1 ^ -(b>>7)&0x1b
}

// divideBy3 divides by x+1. It multiplies by the inverse x^7 + x^6 + x^5 + x^4 + x^2 + x.
func divideBy3(b byte) (product byte) {
	for bit, term := 0, b; bit < 8; bit, term = bit+1, timesX(term) {
		product ^= term & -(0xf6 >> bit & 1)
	}
	return product
}

func rotate(b byte, by uint) byte { return b<<by | b>>(8-by) }
