// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math/bits"
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

// someGRE draws a datagram with GRE or IP in IP from byte 12 on, behind before bytes.
func someGRE(rng *rand.Rand, tweak uint64, before int) (uint64, []byte) {
	b, version := make([]byte, before), rng.IntN(2)
	protocol := []uint64{4, 41, 47}[rng.IntN(3)]
	if tweak>>60 == 4 {
		tweak = tweak&^(0xff<<48) | protocol<<48
	} else {
		tweak = tweak&^(0xff<<52) | protocol<<52
	}
	if protocol == 47 {
		flags := uint16(rng.Uint32()) & 0xb000
		typ := []uint16{[]uint16{0x0800, 0x86dd}[version], bridging, 0x88be, uint16(rng.Uint32())}[rng.IntN(10)/3]
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, flags), typ)
		b = append(b, make([]byte, 4*bits.OnesCount16(flags))...)
		if typ == 0x88be && flags&0x1000 != 0 {
			b = append(b, make([]byte, 8)...)
		}
		if typ == bridging || typ == 0x88be {
			b = append(append(b, make([]byte, 12)...), [][]byte{{8, 0}, {0x86, 0xdd}}[version]...)
		}
	} else {
		version = int(protocol / 41)
	}
	return tweak, append(append(b, []byte{0x45, 0x60}[version]), make([]byte, 23+rng.IntN(30))...)
}

// someTunnel draws a datagram, mostly over UDP, from byte 12 on, mostly with a plain tunnel.
func someTunnel(rng *rand.Rand) (tweak uint64, b []byte) {
	tweak, before := 0x45_11_0040_1234_0000|uint64(rng.Uint32N(2)<<14), 8
	if rng.IntN(3) == 0 {
		tweak, before = 0x6<<60|17<<52|uint64(rng.Uint32()), 28
	}
	if rng.IntN(3) == 0 {
		tweak, b = someGRE(rng, tweak, before)
		return spoil(rng, tweak, b, before)
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
	return spoil(rng, tweak, b, before)
}

// spoil changes something in some datagrams.
func spoil(rng *rand.Rand, tweak uint64, b []byte, before int) (uint64, []byte) {
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
	at, protocol := uint32(0), byte(0)
	switch {
	case m.Tweak>>60 == 4 && m.Tweak&0x3fff == 0:
		at, protocol = 8, byte(m.Tweak>>48)
	case m.Tweak>>60 == 6:
		at, protocol = 28, byte(m.Tweak>>52)
	}
	if at == 0 || m.Len < at+16+24 {
		return inside, otherShape
	}
	d := buf[m.Off:][:m.Len][at:]
	if protocol != 17 {
		start := greModel(protocol, d)
		if start < 0 || start+24 > len(d) {
			return inside, otherShape
		}
		return digest.Message{Off: m.Off + at + uint32(start) - 14, Len: uint32(len(d)-start) + 14}, plainTunnel
	}
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

// greModel returns where IP begins in GRE or in IP, or -1.
func greModel(protocol byte, d []byte) int {
	start, typ := 0, map[byte]uint16{4: 0x0800, 41: 0x86dd}[protocol]
	if protocol == 47 {
		start, typ = 4, binary.BigEndian.Uint16(d[2:])
		for _, flag := range []byte{0x80, 0x20, 0x10} {
			if d[0]&flag != 0 {
				start += 4
			}
		}
		switch {
		case d[0]&0x40 != 0 || d[1]&7 != 0:
			return -1
		case typ == 0x88be && d[0]&0x10 != 0:
			start += 8
		}
		if typ == 0x6558 || typ == 0x88be {
			if start += 14; start > len(d) {
				return -1
			}
			typ = binary.BigEndian.Uint16(d[start-2:])
		}
	}
	if start >= len(d) || !(typ == 0x0800 && d[start]>>4 == 4 || typ == 0x86dd && d[start]>>4 == 6) {
		return -1
	}
	return start
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
			all := make([]byte, datagramSkip) // before a message is the start of its datagram
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

// FuzzTunnels compares the kernel with the plain one.
func FuzzTunnels(f *testing.F) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 40 {
		tweak, b := someTunnel(rng)
		f.Add(tweak, b)
	}
	rule := someTunnels()
	f.Fuzz(func(t *testing.T, tweak uint64, b []byte) {
		msgs, numbers := make([]digest.Message, 8), []uint32{0, 1, 2, 3, 4, 5, 6, 7}
		buf := kerneltest.Guarded[byte](t, datagramSkip+len(b), true)
		copy(buf[datagramSkip:], b)
		for i := range msgs {
			msgs[i] = digest.Message{Off: datagramSkip, Len: uint32(max(len(b)-i*i, 0)), Tweak: tweak ^ uint64(i&1)<<14}
		}
		var plain, rest []uint32
		var inside []digest.Message
		for i := range msgs {
			switch m, is := rule.open(&msgs[i], buf); is {
			case plainTunnel:
				plain, inside = append(plain, uint32(i)), append(inside, m)
			case otherShape:
				rest = append(rest, uint32(i))
			}
		}
		gotPlain, gotRest, gotInside := rule.Open(numbers, nil, nil, msgs, buf)
		if !slices.Equal(gotPlain, plain) || !slices.Equal(gotRest, rest) || !slices.Equal(gotInside, inside) {
			t.Fatalf("plain %d, want %d; others %d, want %d; messages %v, want %v", gotPlain, plain, gotRest, rest, gotInside, inside)
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
