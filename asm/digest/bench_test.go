// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// benchAES runs a benchmark with each implementation of AES.
func benchAES(b *testing.B, run func(b *testing.B, a *AES)) {
	for _, level := range cpu.AESLevels() {
		a := newAES([16]byte{}, level)
		b.Run("level="+level.String(), func(b *testing.B) { run(b, a) })
	}
}

// BenchmarkSum16 has keys and digests in the first cache.
func BenchmarkSum16(b *testing.B) {
	keys, dst := make([][16]byte, 512), make([]Digest, 512)
	benchAES(b, func(b *testing.B, a *AES) {
		kerneltest.MeasureCached(b, len(keys), func() { a.Sum16(dst, keys) })
	})
}

// BenchmarkSum48 has keys and digests in the first cache.
func BenchmarkSum48(b *testing.B) {
	keys, dst := make([][48]byte, 256), make([]Digest, 256)
	benchAES(b, func(b *testing.B, a *AES) {
		kerneltest.MeasureCached(b, len(keys), func() { a.Sum48(dst, keys) })
	})
}

// benchIdentities are lengths of packet identities: from only headers to jumbo frames,
// and the simple mix of the Internet, 7 packets of 40 bytes to 4 of 576 and one of 1500,
// in random order.
var benchIdentities = []struct {
	name    string
	lengths []uint32
}{
	{"38", []uint32{38}},
	{"64", []uint32{64}},
	{"128", []uint32{128}},
	{"512", []uint32{512}},
	{"1460", []uint32{1460}},
	{"9000", []uint32{9000}},
	{"imix", []uint32{40, 40, 40, 40, 40, 40, 40, 576, 576, 576, 576, 1500}},
}

// BenchmarkSumMessages has messages as they lie in a capture, which fill the
// second-level cache.
func BenchmarkSumMessages(b *testing.B) {
	for _, identity := range benchIdentities {
		buf, msgs := benchMessages(identity.lengths)
		dst := make([]Digest, len(msgs))
		b.Run(fmt.Sprintf("bytes=%s/method=aes", identity.name), func(b *testing.B) {
			benchAES(b, func(b *testing.B, a *AES) {
				kerneltest.MeasureCached(b, len(msgs), func() { a.SumMessages(dst, buf, msgs) })
			})
		})
		b.Run(fmt.Sprintf("bytes=%s/method=highway", identity.name), func(b *testing.B) {
			h := NewHighway([32]byte{})
			kerneltest.MeasureCached(b, len(msgs), func() { h.SumMessages(dst, buf, msgs) })
		})
	}
}

// BenchmarkMasks has messages of which a checksum does not count.
func BenchmarkMasks(b *testing.B) {
	mask := AllCount()
	mask.Drop(24, 0xff)
	mask.Drop(25, 0xff)
	for _, length := range []uint32{46, 1460} {
		buf, msgs := benchMessages([]uint32{length})
		dst, which, masks := make([]Digest, len(msgs)), make([]uint8, len(msgs)), NewMasks()
		for i := range which {
			which[i], _ = masks.Number(mask)
		}
		b.Run(fmt.Sprintf("bytes=%d", length), func(b *testing.B) {
			benchAES(b, func(b *testing.B, a *AES) {
				kerneltest.MeasureCached(b, len(msgs), func() { masks.Sum(dst, buf, msgs, which, a) })
			})
		})
	}
}

// BenchmarkSumFewMessages has calls of few messages, as in programs that take one packet
// at a time.
func BenchmarkSumFewMessages(b *testing.B) {
	for _, length := range []uint32{46, 576, 1500} {
		buf, msgs := benchMessages([]uint32{length})
		for _, n := range []int{1, 2, 3, 4} {
			dst := make([]Digest, n)
			b.Run(fmt.Sprintf("bytes=%d/messages=%d", length, n), func(b *testing.B) {
				benchAES(b, func(b *testing.B, a *AES) {
					kerneltest.MeasureCached(b, n, func() { a.SumMessages(dst, buf, msgs[:n]) })
				})
			})
		}
	}
}

// benchMessages returns 256 messages 16 bytes apart, off the alignment of blocks.
func benchMessages(lengths []uint32) (buf []byte, msgs []Message) {
	rng := rand.New(rand.NewPCG(5, 6))
	end := uint32(3)
	for range 256 {
		m := Message{Off: end, Len: lengths[rng.IntN(len(lengths))]}
		end += m.Len + 16
		msgs = append(msgs, m)
	}
	return make([]byte, end), msgs
}
