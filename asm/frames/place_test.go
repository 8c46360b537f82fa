// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// pointModel is the point of the frames of a VLAN, with numbers of any size.
func pointModel(p *Place, id uint64) uint64 {
	if id == 0 {
		return p.Hash
	}
	product := new(big.Int).Mul(new(big.Int).SetUint64(p.Hash^p.Kind^id), new(big.Int).SetUint64(p.Key))
	high := new(big.Int).Rsh(product, 64).Uint64()
	return high ^ new(big.Int).And(product, new(big.Int).SetUint64(1<<64-1)).Uint64()
}

// taggedFrame writes a frame at an offset of buf, and describes it. want is its VLAN, and
// ok is false if Points does not take it.
func taggedFrame(rng *rand.Rand, p *Place, buf []byte, at uint32) (f Frame, m digest.Message, want uint64, ok bool) {
	f = Frame{Time: int64(rng.Uint64()), Data: at, CapLen: rng.Uint32(), WireLen: rng.Uint32(), Interface: uint32(p.Interface), Record: rng.Uint32(), RecordLen: rng.Uint32()}
	m = digest.Message{Off: at + uint32(p.Skip), Len: rng.Uint32(), Tweak: 4<<60 | rng.Uint64N(2)<<61 | rng.Uint64()>>4}
	kind, tag := uint16(tagType), uint16(rng.Uint32())
	switch rng.IntN(3) {
	case 0:
		tag &= 0xf000
	case 1:
		tag &= 0xf003
	}
	if ok = true; rng.IntN(2) == 0 {
		m.Off += 4
		want = uint64(tag & 0xfff)
		if rng.IntN(10) == 0 {
			kind, ok = kind^1<<rng.IntN(16), false
		}
	}
	binary.BigEndian.PutUint16(buf[at+tagAt:], kind)
	binary.BigEndian.PutUint16(buf[at+tagAt+2:], tag)
	switch rng.IntN(40) {
	case 0:
		f.Interface ^= 1 << rng.IntN(32)
		ok = false
	case 1:
		m.Off = rng.Uint32()
		ok = false
	case 2:
		m.Tweak ^= []uint64{1 << 60, 1 << 62, 1 << 63}[rng.IntN(3)]
		ok = false
	case 3:
		m.Off += 8
		ok = false
	case 4:
		f.Data, ok = f.Data+1<<20, false // beyond buf
	}
	return f, m, want, ok
}

// TestPoints compares each kernel with a plain model, with guard pages around all buffers.
func TestPoints(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(81, 82))
		for round := range 600 {
			front, n := round%2 == 0, rng.IntN(65)
			p := &Place{Interface: uint64(rng.Uint32()), Skip: 26, Hash: rng.Uint64(), Kind: rng.Uint64() << 32, Key: rng.Uint64()}
			frames, msgs := kerneltest.Guarded[Frame](t, n, front), kerneltest.Guarded[digest.Message](t, n, front)
			points, buf := kerneltest.Guarded[uint64](t, n, front), kerneltest.Guarded[byte](t, 16*max(n, 1), front)
			want, can := make([]uint64, n), make([]bool, n)
			for i := range n {
				frames[i], msgs[i], want[i], can[i] = taggedFrame(rng, p, buf, uint32(16*i))
			}
			others := p.Points(points, frames, msgs, buf)
			for i := range n {
				if is := others>>i&1 == 0; is != can[i] || is && points[i] != pointModel(p, want[i]) {
					t.Fatalf("frame %d of %d: %+v, %+v, VLAN %d: taken %v, want %v, point %x, want %x", i, n, frames[i], msgs[i], want[i], is, can[i], points[i], pointModel(p, want[i]))
				}
			}
			if n < 64 && others>>n != 0 {
				t.Fatalf("bits beyond %d frames: %b", n, others)
			}
		}
	})
}

// TestPointsShort checks that nothing is read of a buffer without room for a tag.
func TestPointsShort(t *testing.T) {
	for n := range tagAt + 4 {
		if others := (&Place{}).Points(make([]uint64, 9), make([]Frame, 9), make([]digest.Message, 9), make([]byte, n)); others != 1<<9-1 {
			t.Errorf("%d bytes: %b", n, others)
		}
	}
}
