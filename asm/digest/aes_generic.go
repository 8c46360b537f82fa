// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"encoding/binary"
	"unsafe"
)

// chains is how many CBC chains run side by side. Each waits for its own last block, so
// several hide the latency of a block. Blocks are first added to all states and then
// encrypted: a cipher that loads 16 bytes at once has to wait for two stores of 8 bytes
// just before.
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

// sumMessagesGeneric digests messages. If one reaches beyond buf, it returns a number less
// than theirs.
func (a *AES) sumMessagesGeneric(dst []Digest, buf []byte, msgs []Message) (done int) {
	key := a.messages
	for i := range msgs {
		m := &msgs[i]
		if m.isOutside(buf) {
			return i
		}
		dst[i] = key.hash.sum(buf[m.Off:][:m.Len])
		dst[i][0] ^= uint64(m.Len) << 32
		dst[i][1] ^= m.Tweak
		loadDigest(&dst[i])
		s := digestBytes(&dst[i])[:]
		key.block.Encrypt(s, s)
		loadDigest(&dst[i])
	}
	return len(msgs)
}
