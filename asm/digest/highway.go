// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"encoding/binary"

	"github.com/minio/highwayhash"
)

// Highway computes digests with HighwayHash-128 (Alakuijala, Cox, Wassenberg, "Fast keyed
// hash/pseudo-random function using SIMD multiply and permute", arXiv:1612.06257) under
// one secret key. It is for CPUs without AES instructions. Digests are the same on every
// CPU. A Highway is immutable, so any number of goroutines may use it at once. It does
// not allocate.
type Highway struct {
	fresh  highwayhash.Digest // keyed, nothing written yet
	kernel highwayKernel      // what the kernel of arm64 begins with
}

// NewHighway prepares the initial state of the hash.
func NewHighway(key [32]byte) *Highway {
	h, err := highwayhash.NewDigest128(key[:])
	if err != nil {
		panic("digest: NewHighway: " + err.Error()) // only for keys of a wrong size
	}
	return &Highway{fresh: *h, kernel: newHighwayKernel(key)}
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
