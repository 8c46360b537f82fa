// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"encoding/binary"
	"math/bits"

	"github.com/minio/highwayhash"
)

// Highway computes digests with HighwayHash-128 (Alakuijala, Cox, Wassenberg, "Fast keyed
// hash/pseudo-random function using SIMD multiply and permute", arXiv:1612.06257) under
// one secret key. It is for CPUs without AES instructions. Digests are the same on every
// CPU. A Highway is immutable, so any number of goroutines may use it at once. It does
// not allocate.
type Highway struct {
	fresh highwayhash.Digest // keyed, nothing written yet
	start highwayState       // the same for kernels, with the zero words of the header added
}

// NewHighway prepares the initial state of the hash.
func NewHighway(key [32]byte) *Highway {
	h, err := highwayhash.NewDigest128(key[:])
	if err != nil {
		panic("digest: NewHighway: " + err.Error()) // only for keys of a wrong size
	}
	start := newHighwayState(key)
	start.pastHeader()
	return &Highway{fresh: *h, start: start}
}

// SumMessages sets dst[i] to the HighwayHash-128 of the 32 bytes
//
//	LE64(msgs[i].Len) || LE64(msgs[i].Tweak) || 16 zero bytes
//
// followed by the message, buf[Off:Off+Len]. The prefix is one packet of the hash, so the
// packets of the message begin with the message. Messages may lie anywhere in buf and may
// overlap. SumMessages panics if dst is shorter than msgs or a message reaches beyond
// buf.
func (h *Highway) SumMessages(dst []Digest, buf []byte, msgs []Message) {
	if len(dst) < len(msgs) {
		panic(shortDst("Highway.SumMessages"))
	}
	for i := range msgs {
		if msgs[i].isOutside(buf) {
			panic(beyondBuf("Highway.SumMessages"))
		}
	}
	h.sumMessages(dst[:len(msgs)], buf, msgs)
}

func (h *Highway) sumMessagesGeneric(dst []Digest, buf []byte, msgs []Message) {
	for i := range msgs {
		dst[i] = h.sum(buf, &msgs[i])
	}
}

func (h *Highway) sum(buf []byte, m *Message) Digest {
	var prefix [highwayhash.Size]byte
	binary.LittleEndian.PutUint64(prefix[:8], uint64(m.Len))
	binary.LittleEndian.PutUint64(prefix[8:], m.Tweak)
	state := h.fresh
	state.Write(prefix[:])
	state.Write(buf[m.Off:][:m.Len])
	var out [highwayhash.Size128]byte
	state.Sum(out[:0])
	return Digest{binary.LittleEndian.Uint64(out[:8]), binary.LittleEndian.Uint64(out[8:])}
}

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
