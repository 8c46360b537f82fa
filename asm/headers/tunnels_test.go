// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

var (
	framePorts = [4]uint16{4789, 8472, 4790, 6081}
	otherPorts = [5]uint16{1701, 4341, 6635, 30030, 37008}
)

const ipPort = 2152

func someTunnels() *Tunnels {
	vxlan := func(port uint16) TunnelShape { return TunnelShape{port, 0x0d << 56, 0x08 << 56} }
	return NewTunnels(
		[4]TunnelShape{vxlan(4789), vxlan(8472), vxlan(4790), {6081, 0xff80ffff << 32, 0x6558 << 32}},
		TunnelShape{ipPort, 0xf7ff << 48, 0x30ff << 48},
		slices.Concat(framePorts[:], otherPorts[:], []uint16{ipPort}), 1701)
}

// someTunnel draws a datagram over UDP from byte 12 on, mostly with a plain tunnel.
func someTunnel(rng *rand.Rand) (tweak uint64, b []byte) {
	tweak, before := 0x45_11_0040_1234_0000|uint64(rng.Uint32N(2)<<14), 8
	if rng.IntN(3) == 0 {
		tweak, before = 0x6<<60|17<<52|uint64(rng.Uint32()), 28
	}
	b = make([]byte, before)
	port := framePorts[rng.IntN(4)]
	header := []byte{8, 0, 0, 0, 0, 0, 7, 0}
	typ := [][]byte{{0x08, 0x00, 0x45}, {0x86, 0xdd, 0x60}}[rng.IntN(2)]
	inside := append(make([]byte, 12), typ...)
	if rng.IntN(3) == 0 {
		port, inside = ipPort, typ[2:]
	}
	inside = append(inside, make([]byte, 20+rng.IntN(40))...)
	switch port {
	case 6081:
		copy(header, []byte{0, byte(rng.IntN(2)) << 6, 0x65, 0x58})
	case ipPort:
		copy(header, []byte{0x30 | byte(rng.IntN(2))<<3, 0xff})
		binary.BigEndian.PutUint16(header[2:], uint16(len(inside)+rng.IntN(3)-1))
	}
	switch rng.IntN(12) {
	case 0:
		port = otherPorts[rng.IntN(5)]
	case 1:
		port = uint16(rng.Uint32())
	}
	src := uint16(rng.Uint32())
	if rng.IntN(12) == 0 {
		src = 1701
	}
	b = binary.BigEndian.AppendUint16(b, src)
	b = binary.BigEndian.AppendUint16(b, port)
	length := 16 + len(inside)
	b = binary.BigEndian.AppendUint16(b, []uint16{uint16(length), uint16(length - 3), uint16(length + 3), uint16(length), 0, uint16(rng.IntN(60))}[rng.IntN(6)])
	b = append(append(append(b, 0, 0), header...), inside...)
	switch rng.IntN(8) {
	case 0:
		b[before+rng.IntN(len(b)-before)] ^= 1 << rng.IntN(8)
	case 1:
		tweak ^= 1 << rng.IntN(64)
	case 2:
		b = b[:rng.IntN(len(b))]
	}
	return tweak, b
}

// tunnelModel reads the headers one by one.
func tunnelModel(m digest.Message, buf []byte) (inside digest.Message, is uint) {
	at, udp := uint32(0), false
	switch m.Tweak >> 60 {
	case 4:
		at, udp = 8, byte(m.Tweak>>48) == 17 && m.Tweak&0x3fff == 0
	case 6:
		at, udp = 28, byte(m.Tweak>>52) == 17
	}
	if !udp || m.Len < at+16+24 {
		return inside, otherShape
	}
	d := buf[m.Off:][:m.Len][at:]
	src, dst, end := binary.BigEndian.Uint16(d), binary.BigEndian.Uint16(d[2:]), min(len(d), int(binary.BigEndian.Uint16(d[4:])))
	start, isPlain := 16, false
	switch {
	case dst == ipPort:
		end = min(end, 16+int(binary.BigEndian.Uint16(d[10:])))
		isPlain = d[8]&0xf7 == 0x30 && d[9] == 0xff && (d[16]>>4 == 4 || d[16]>>4 == 6)
	case slices.Contains(framePorts[:], dst):
		start = 30
		typ := binary.BigEndian.Uint16(d[28:])
		isPlain = typ == 0x0800 && d[30]>>4 == 4 || typ == 0x86dd && d[30]>>4 == 6
		if dst == 6081 {
			isPlain = isPlain && d[8] == 0 && d[9]&0x80 == 0 && d[10] == 0x65 && d[11] == 0x58
		} else {
			isPlain = isPlain && d[8]&0x0d == 8
		}
	case !slices.Contains(otherPorts[:], dst) && src != 1701:
		return inside, noTunnel
	}
	if !isPlain || start >= end {
		return inside, otherShape
	}
	off := m.Off + at + uint32(start) - 14
	return digest.Message{Off: off, Len: uint32(end) - uint32(start) + 14}, plainTunnel
}

// TestTunnels compares each kernel with the model.
func TestTunnels(t *testing.T) {
	rule := someTunnels()
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		var others []uint32
		var inside []digest.Message
		var seen [3]int
		for round := range 400 {
			msgs := kerneltest.Guarded[digest.Message](t, 1+rng.IntN(70), round%2 == 0)
			var all []byte
			for i := range msgs {
				tweak, b := someTunnel(rng)
				msgs[i] = digest.Message{Off: uint32(len(all)), Len: uint32(len(b)), Tweak: tweak}
				all = append(all, b...)
			}
			buf := kerneltest.Guarded[byte](t, len(all), round%3 == 0)
			copy(buf, all)
			numbers := kerneltest.Guarded[uint32](t, rng.IntN(len(msgs)+1), round%2 == 1)
			for i, number := range rng.Perm(len(msgs))[:len(numbers)] {
				numbers[i] = uint32(number)
			}
			var want [3][]uint32
			var messages []digest.Message
			for _, i := range numbers {
				m, is := tunnelModel(msgs[i], buf)
				want[is] = append(want[is], i)
				seen[is]++
				if is == plainTunnel {
					messages = append(messages, m)
				}
			}
			numbers, others, inside = rule.Open(numbers, others, inside, msgs, buf)
			if !slices.Equal(numbers, want[plainTunnel]) || !slices.Equal(others, want[otherShape]) || !slices.Equal(inside, messages) {
				t.Fatalf("round %d: plain %d, want %d; others %d, want %d; messages %v, want %v", round, numbers, want[plainTunnel], others, want[otherShape], inside, messages)
			}
		}
		for is, n := range seen {
			if n < 100 {
				t.Errorf("%d datagrams of sort %d", n, is)
			}
		}
	})
}

func TestNewTunnelsPanics(t *testing.T) {
	kerneltest.Panics(t, "same low byte", func() {
		NewTunnels([4]TunnelShape{}, TunnelShape{}, []uint16{1, 2, 257}, 1701)
	})
	kerneltest.Panics(t, "too many", func() {
		NewTunnels([4]TunnelShape{}, TunnelShape{}, make([]uint16, 13), 1701)
	})
}
