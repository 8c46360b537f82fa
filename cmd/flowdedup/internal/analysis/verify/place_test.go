// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// redundant returns a frame of IEC 62439-3, or nearly so.
func redundant(rng *rand.Rand) []byte {
	be := binary.BigEndian
	frame := make([]byte, 12)
	for range rng.IntN(3) {
		frame = append(frame, 0x81, 0, 0, byte(rng.IntN(3)))
	}
	path := byte(rng.IntN(4))
	if rng.IntN(3) == 0 {
		frame = append(frame, 0x89, 0x2f, path<<4, 60, 0, 1)
	}
	at := len(frame) + 2
	size := []int{0, 20, 30, 46, 60, 300}[rng.IntN(6)]
	payload := make([]byte, size)
	switch rng.IntN(5) {
	case 0:
		frame = append(frame, 0x88, 0xb8)
	case 1:
		frame = be.AppendUint16(frame, uint16(size+6*rng.IntN(2)))
	case 2:
		frame = append(frame, 0x86, 0xdd)
		if size >= 40 {
			payload[0] = 0x60
			be.PutUint16(payload[4:], uint16((size-40+6*rng.IntN(2))*rng.IntN(2)))
		}
	default:
		frame = append(frame, 8, 0)
		if size >= 20 {
			payload[0] = 0x45
			be.PutUint16(payload[2:], uint16((size+6*rng.IntN(2))*min(rng.IntN(4), 1)))
		}
	}
	frame = append(frame, payload...)
	if rng.IntN(4) > 0 {
		length := len(frame) - at + 6
		if rng.IntN(3) == 0 {
			length -= rng.IntN(30)
		}
		frame = be.AppendUint16(append(frame, 0, 1), uint16(9+path)<<12|uint16(max(length, 0)))
		frame = append(frame, 0x88, 0xfb)
	}
	return frame
}

// TestLANs reads the LANs of frames as package headers does, which has other code.
func TestLANs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[headers.Path]int{}
	for range 20_000 {
		b := new(capture.Batch)
		b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, FCSLen: uint8(4 * rng.IntN(2))})
		frame := redundant(rng)
		if b.Interfaces[0].FCSLen > 0 {
			frame = append(frame, 0x88, 0xfb, 0x88, 0xfb)
		} else if rng.IntN(2) == 0 { // which the capture does not mention
			frame = binary.LittleEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
		}
		data := frame
		if rng.IntN(8) == 0 {
			data = frame[:rng.IntN(len(frame))]
		}
		b.Append(capture.Frame{WireLen: uint32(len(frame))}, data)
		path, _ := headers.PathOf(b, 0)
		seen[path]++
		want := uint8(0)
		switch {
		case path == headers.LANA || path == headers.LANB:
			want = path.String()[4]
		case path.Ring():
			want = 1 + uint8(path)&0xf
		}
		if got := placeOf(b, 0); got.lan != want {
			t.Fatalf("%x: LAN %d, want %d (%s)", data, got.lan, want, path)
		}
	}
	if seen[headers.LANA] < 500 || seen[headers.LANB] < 500 || len(seen) != 7 {
		t.Errorf("paths %v", seen)
	}
}

// TestAcrossLANs takes a packet on the other LAN for a copy, and no packet on the same LAN.
func TestAcrossLANs(t *testing.T) {
	trailer := func(lan byte) []byte {
		frame := append(make([]byte, 12), 0x88, 0xb8)
		return append(append(frame, make([]byte, 50)...), 0, 1, lan<<4, 56, 0x88, 0xfb)
	}
	for _, c := range []struct {
		name string
		cfg  Config
		lans [2]byte
		lost uint64
	}{
		{"across, other LAN", Config{Across: true}, [2]byte{0xa, 0xb}, 0},
		{"across, same LAN", Config{Across: true}, [2]byte{0xa, 0xa}, 1},
		{"within, other LAN", Config{Within: traits.PointLAN}, [2]byte{0xa, 0xb}, 1},
		{"within, same LAN", Config{Within: traits.PointLAN}, [2]byte{0xb, 0xb}, 0},
		{"within both, same LAN", Config{Within: traits.PointLAN | traits.PointInterface}, [2]byte{0xb, 0xb}, 0},
	} {
		c.cfg.Memory = 1 << 20
		batch := func(n int) *capture.Batch {
			b := new(capture.Batch)
			b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
			for i, lan := range c.lans[:n] {
				b.Append(capture.Frame{Time: int64(i)}, trailer(lan))
			}
			return b
		}
		v := newVerifier(c.cfg, &source{batch: batch(1), err: io.EOF}, nil)
		v.Add(batch(2))
		if r, err := v.Report(); err != nil || r.Lost != c.lost || r.Removed != 1 {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
}
