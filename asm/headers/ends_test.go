// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// someEnds makes a hash of conversations, with random keys, for TCP and UDP.
func someEnds(rng *rand.Rand) *Ends {
	e := &Ends{Keys: [4]uint64{rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64()}}
	e.Ports[6], e.Ports[17] = 1<<32-1, 1<<32-1
	return e
}

// foldModel is fold with numbers of any size.
func foldModel(a, b uint64) uint64 {
	product := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
	high := new(big.Int).Rsh(product, 64)
	return high.Uint64() ^ new(big.Int).And(product, new(big.Int).SetUint64(1<<64-1)).Uint64()
}

// endsModel hashes a message, step by step; ok is false if it is no whole datagram of IPv4.
func endsModel(e *Ends, m digest.Message, buf []byte) (hash uint64, ok bool) {
	if m.Tweak>>56 != 0x45 || m.Tweak&0x3fff != 0 || m.Len < 12 {
		return 0, false
	}
	data, proto := buf[m.Off:], uint8(m.Tweak>>48)
	var ends [2]uint64
	for i := range ends {
		ends[i] = uint64(binary.LittleEndian.Uint32(data[4*i:])) << 32
		if proto == 6 || proto == 17 {
			ends[i] |= uint64(binary.BigEndian.Uint16(data[8+2*i:]))
		}
	}
	low, high := min(ends[0], ends[1]), max(ends[0], ends[1])
	return max(foldModel(foldModel(low^e.Keys[0], high^e.Keys[1])^e.Keys[2]^uint64(proto), e.Keys[3]), 1), true
}

// TestEnds compares each kernel with the model, and both directions with each other.
func TestEnds(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for round := range 200 {
			e, n := someEnds(rng), rng.IntN(65)
			msgs, buf := make([]digest.Message, n), kerneltest.Guarded[byte](t, 12*max(n, 1), round%2 == 0)
			for i := range buf {
				buf[i] = byte(rng.Uint32())
			}
			for i := range msgs {
				m := &msgs[i]
				m.Off, m.Len = uint32(12*i), 12
				m.Tweak = 0x45<<56 | []uint64{6, 17, 1, 250}[rng.IntN(4)]<<48 | uint64(rng.Uint32())>>14<<14
				switch rng.IntN(12) {
				case 0:
					m.Len = rng.Uint32N(12)
				case 1:
					m.Tweak ^= 1 << rng.IntN(64)
				case 2:
					copy(buf[m.Off+4:][:4], buf[m.Off:]) // one host
				}
			}
			hashes := make([]uint64, n)
			others := e.Hash(hashes, msgs, buf)
			for i, m := range msgs {
				want, ok := endsModel(e, m, buf)
				if other := others>>i&1 != 0; other == ok || ok && hashes[i] != want {
					t.Fatalf("message %d of %d: %x, %v, want %x, %v", i, n, hashes[i], !other, want, ok)
				}
				if !ok {
					continue
				}
				ports := binary.BigEndian.Uint32(buf[m.Off+8:]) & e.Ports[uint8(m.Tweak>>48)]
				both := binary.LittleEndian.Uint64(buf[m.Off:])
				if back := e.HashOne(both<<32|both>>32, uint64(ports&0xffff), uint64(ports>>16), uint8(m.Tweak>>48)); back != want {
					t.Fatalf("message %d: the other direction has %x, want %x", i, back, want)
				}
			}
			if others>>1>>max(n-1, 0) != 0 && n > 0 {
				t.Fatalf("%d messages: others %x", n, others)
			}
		}
	})
}
