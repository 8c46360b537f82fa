// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"encoding/binary"
	"unsafe"
)

// chains is the number of CBC chains that run side by side. Each waits for its own last
// block, so several hide the latency of a block. Blocks are first added to all states and
// then encrypted: a cipher that loads 16 bytes at once has to wait for two stores of 8
// bytes just before.
const chains = 8

// digestBytes returns the memory of d as the state of the cipher. A buffer on the stack
// would escape through cipher.Block and cost an allocation for each call.
func digestBytes(d *Digest) *[16]byte {
	return (*[16]byte)(unsafe.Pointer(d))
}

// loadDigest converts the output of the cipher to two little-endian words, or such words to
// an input, which is no work on little-endian machines.
func loadDigest(d *Digest) {
	b := digestBytes(d)
	*d = Digest{binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:])}
}

// xorBlock adds 16 bytes to the state.
func xorBlock(s *[16]byte, p *[16]byte) {
	binary.LittleEndian.PutUint64(s[:8], binary.LittleEndian.Uint64(s[:8])^binary.LittleEndian.Uint64(p[:8]))
	binary.LittleEndian.PutUint64(s[8:], binary.LittleEndian.Uint64(s[8:])^binary.LittleEndian.Uint64(p[8:]))
}

func (a *AES) sum16Generic(dst []Digest, keys [][16]byte) {
	for i := range keys {
		a.block.Encrypt(digestBytes(&dst[i])[:], keys[i][:])
		loadDigest(&dst[i])
	}
}

func (a *AES) sum48Generic(dst []Digest, keys [][48]byte) {
	for len(keys) > 0 {
		n := min(chains, len(keys))
		for i := range n {
			a.block.Encrypt(digestBytes(&dst[i])[:], keys[i][:16])
		}
		for b := 16; b < 48; b += 16 {
			for i := range n {
				s := digestBytes(&dst[i])
				xorBlock(s, (*[16]byte)(keys[i][b:]))
			}
			for i := range n {
				s := digestBytes(&dst[i])
				a.block.Encrypt(s[:], s[:])
			}
		}
		for i := range n {
			loadDigest(&dst[i])
		}
		dst, keys = dst[n:], keys[n:]
	}
}

// sumMessagesGeneric digests messages. If a message reaches beyond buf, it returns less than
// their number.
func (a *AES) sumMessagesGeneric(dst []Digest, buf []byte, msgs []Message) (done int) {
	key := a.messages
	for i := range msgs {
		m := &msgs[i]
		if m.isOutside(buf) {
			return i
		}
		dst[i] = a.tables.sum(buf[m.Off:][:m.Len])
		dst[i][0] ^= uint64(m.Len) << 32
		dst[i][1] ^= m.Tweak
		loadDigest(&dst[i])
		s := digestBytes(&dst[i])[:]
		key.block.Encrypt(s, s)
		loadDigest(&dst[i])
	}
	return len(msgs)
}

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
