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

// loadDigest converts the output of the cipher to two little-endian words, which is no
// work on little-endian machines.
func loadDigest(d *Digest) {
	b := digestBytes(d)
	*d = Digest{binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:])}
}

// xorBlock adds 16 bytes to the state.
func xorBlock(s *[16]byte, p *[16]byte) {
	binary.LittleEndian.PutUint64(s[:8], binary.LittleEndian.Uint64(s[:8])^binary.LittleEndian.Uint64(p[:8]))
	binary.LittleEndian.PutUint64(s[8:], binary.LittleEndian.Uint64(s[8:])^binary.LittleEndian.Uint64(p[8:]))
}

// xorPadded adds the first 16 bytes of p to the state, padded with zeros if p is shorter.
func xorPadded(s *[16]byte, p []byte) {
	if len(p) >= 16 {
		xorBlock(s, (*[16]byte)(p))
		return
	}
	for i, c := range p {
		s[i] ^= c
	}
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

func (a *AES) sumMessagesGeneric(dst []Digest, buf []byte, msgs []Message) {
	for len(msgs) > 0 {
		n := min(chains, len(msgs))
		a.sumChains(dst[:n], buf, msgs[:n])
		dst, msgs = dst[n:], msgs[n:]
	}
}

// sumChains digests a few messages in step, block by block.
func (a *AES) sumChains(dst []Digest, buf []byte, msgs []Message) {
	longest := uint32(0)
	for i := range msgs {
		s := digestBytes(&dst[i])
		putHeader(s, &msgs[i])
		a.block.Encrypt(s[:], s[:])
		longest = max(longest, msgs[i].Len)
	}
	for at := uint64(0); at < uint64(longest); at += 16 {
		for i := range msgs {
			if m := &msgs[i]; at < uint64(m.Len) {
				xorPadded(digestBytes(&dst[i]), buf[m.Off:][at:m.Len])
			}
		}
		for i := range msgs {
			if at < uint64(msgs[i].Len) {
				s := digestBytes(&dst[i])
				a.block.Encrypt(s[:], s[:])
			}
		}
	}
	for i := range msgs {
		loadDigest(&dst[i])
	}
}
