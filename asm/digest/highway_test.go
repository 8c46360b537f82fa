// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// plainState is HighwayHash written down from the paper and the project's
// portable C, with nothing taken from the library that the package uses.
type plainState struct {
	v0, v1, mul0, mul1 [4]uint64
}

func newPlainState(key [32]byte) *plainState {
	s := &plainState{
		mul0: [4]uint64{0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344, 0x243f6a8885a308d3},
		mul1: [4]uint64{0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c, 0x452821e638d01377},
	}
	for i := range 4 {
		k := binary.LittleEndian.Uint64(key[8*i:])
		s.v0[i] = s.mul0[i] ^ k
		s.v1[i] = s.mul1[i] ^ bits.RotateLeft64(k, 32)
	}
	return s
}

func zipperMerge(v1, v0 uint64, add1, add0 *uint64) {
	*add0 += (((v0&0xff000000)|(v1&0xff00000000))>>24 | ((v0&0xff0000000000)|(v1&0xff000000000000))>>16 |
		v0&0xff0000 | (v0&0xff00)<<32 | (v1&0xff00000000000000)>>8 | v0<<56)
	*add1 += (((v1&0xff000000)|(v0&0xff00000000))>>24 | v1&0xff0000 | (v1&0xff0000000000)>>16 |
		(v1&0xff00)<<24 | (v0&0xff000000000000)>>8 | (v1&0xff)<<48 | v0&0xff00000000000000)
}

func (s *plainState) lanes(l [4]uint64) {
	for i := range 4 {
		s.v1[i] += s.mul0[i] + l[i]
		s.mul0[i] ^= (s.v1[i] & 0xffffffff) * (s.v0[i] >> 32)
		s.v0[i] += s.mul1[i]
		s.mul1[i] ^= (s.v0[i] & 0xffffffff) * (s.v1[i] >> 32)
	}
	zipperMerge(s.v1[1], s.v1[0], &s.v0[1], &s.v0[0])
	zipperMerge(s.v1[3], s.v1[2], &s.v0[3], &s.v0[2])
	zipperMerge(s.v0[1], s.v0[0], &s.v1[1], &s.v1[0])
	zipperMerge(s.v0[3], s.v0[2], &s.v1[3], &s.v1[2])
}

func (s *plainState) packet(p []byte) {
	var l [4]uint64
	for i := range l {
		l[i] = binary.LittleEndian.Uint64(p[8*i:])
	}
	s.lanes(l)
}

func (s *plainState) remainder(p []byte) {
	n := len(p)
	var packet [32]byte
	for i := range 4 {
		s.v0[i] += uint64(n)<<32 + uint64(n)
		low, high := uint32(s.v1[i]), uint32(s.v1[i]>>32)
		s.v1[i] = uint64(bits.RotateLeft32(high, n))<<32 | uint64(bits.RotateLeft32(low, n))
	}
	whole := n &^ 3
	copy(packet[:], p[:whole])
	if n&16 != 0 {
		copy(packet[28:], p[n-4:])
	} else if n&3 != 0 {
		packet[16] = p[whole]
		packet[17] = p[whole+n&3>>1]
		packet[18] = p[n-1]
	}
	s.packet(packet[:])
}

func plainHighway(key [32]byte, p []byte) Digest {
	s := newPlainState(key)
	for ; len(p) >= 32; p = p[32:] {
		s.packet(p)
	}
	if len(p) > 0 {
		s.remainder(p)
	}
	for range 6 {
		var l [4]uint64
		for i := range l {
			l[i] = bits.RotateLeft64(s.v0[i^2], 32)
		}
		s.lanes(l)
	}
	return Digest{
		s.v0[0] + s.mul0[0] + s.v1[2] + s.mul1[2],
		s.v0[1] + s.mul0[1] + s.v1[3] + s.mul1[3],
	}
}

// highwayInput returns the bytes whose hash is defined as the digest of a message.
func highwayInput(buf []byte, m Message) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(m.Len))
	b = binary.LittleEndian.AppendUint64(b, m.Tweak)
	b = append(b, make([]byte, 16)...)
	return append(b, buf[m.Off:m.Off+m.Len]...)
}

func TestPublishedHighway(t *testing.T) {
	var v struct {
		Key     kerneltest.Hex
		Digests []kerneltest.Hex
	}
	kerneltest.ReadVectors(t, "highwayhash128.json", &v)
	var input []byte
	for i, want := range v.Digests {
		if got := plainHighway([32]byte(v.Key), input); got != digestOf(want) {
			t.Errorf("%d bytes: %x, want %x", i, bytesOf(got), want)
		}
		input = append(input, byte(i))
	}
}

func TestHighwayMessages(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	key := [32]byte{31: 1}
	buf := kerneltest.Pattern(3000)
	for n := range 40 {
		msgs := randomMessages(rng, n, 300, len(buf))
		for i := range msgs {
			if i%3 == 0 { // every length around the hash's own cut-offs
				msgs[i].Off, msgs[i].Len = uint32(n), uint32(i+n)
			}
		}
		dst := make([]Digest, n)
		NewHighway(key).SumMessages(dst, buf, msgs)
		for i, m := range msgs {
			if want := plainHighway(key, highwayInput(buf, m)); dst[i] != want {
				t.Fatalf("message %+v: %x, want %x", m, dst[i], want)
			}
		}
	}
}
