// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

var (
	framePorts = [4]uint16{4789, 8472, 4790, 6081}
	// otherPorts has two with the low bytes of plain tunnels, and more than a line of a cache holds.
	otherPorts  = [...]uint16{1701, 4341, 6635, 30030, 37008, 3544, 5247, 12222, 12223, 6080, 4789 + 256, 2152 + 512, 7, 9999}
	sourcePorts = []uint16{1701, 3544, 5247, 12222}
)

const ipPort = 2152

// carriers are protocols that can carry packets.
var carriers = [256]bool{4: true, 17: true, 41: true, 47: true, 51: true, 97: true}

func someTunnels(from ...uint16) *Tunnels {
	vxlan := func(port uint16) TunnelShape { return TunnelShape{Port: port, Mask: 0x0d << 56, Value: 0x08 << 56} }
	return NewTunnels(
		[4]TunnelShape{vxlan(4789), vxlan(8472), vxlan(4790), {6081, 0xc080ffff << 32, 0x6558 << 32, 0x3f}},
		TunnelShape{Port: ipPort, Mask: 0xf7ff << 48, Value: 0x30ff << 48},
		slices.Concat(framePorts[:], otherPorts[:], []uint16{ipPort}), from, &carriers)
}

// someDatagram draws a datagram, mostly with a plain tunnel in which there may be more of them.
func someDatagram(rng *rand.Rand, version int) []byte {
	protocol := []byte{17, 17, 17, 4, 41, 47, 47, 6, 51, 17}[rng.IntN(10)]
	var upper []byte
	switch protocol {
	case 17:
		upper = someUDP(rng)
	case 47:
		upper = someGRE(rng)
	case 4, 41:
		upper = someDatagram(rng, int(protocol/41))
	default:
		upper = make([]byte, 4+rng.IntN(50))
	}
	length := len(upper) + max(0, rng.IntN(12)-10)
	var ip []byte
	if version == 0 {
		ip = append([]byte{0x45, 0}, make([]byte, 18)...)
		binary.BigEndian.PutUint16(ip[2:], uint16(20+length))
		ip[6], ip[8], ip[9] = byte(max(0, rng.IntN(30)-28)<<5), byte(min(rng.IntN(300), 255)), protocol
		if rng.IntN(2) == 0 {
			setSum(ip)
			ip[10] ^= byte(max(0, rng.IntN(150)-148))
		}
	} else {
		ip = append([]byte{0x60}, make([]byte, 39)...)
		binary.BigEndian.PutUint16(ip[4:], uint16(length))
		ip[6], ip[7] = protocol, byte(min(rng.IntN(300), 255))
	}
	if rng.IntN(30) == 0 {
		ip[0] ^= 1
	}
	return append(ip, upper...)
}

// someFrameWithIP draws a frame with up to three tags.
func someFrameWithIP(rng *rand.Rand) []byte {
	b := make([]byte, 12)
	for range max(0, rng.IntN(8)-4) {
		b = append(binary.BigEndian.AppendUint16(b, []uint16{0x8100, 0x88a8, 0x9100}[rng.IntN(3)]), 0, byte(rng.Uint32()))
	}
	version := rng.IntN(2)
	return append(binary.BigEndian.AppendUint16(b, []uint16{0x0800, 0x86dd}[version]), someDatagram(rng, version)...)
}

// someGRE draws a GRE header and what follows.
func someGRE(rng *rand.Rand) []byte {
	version, flags := rng.IntN(2), uint16(rng.Uint32())&0xb000
	typ := []uint16{[]uint16{0x0800, 0x86dd}[version], bridging, 0x88be, uint16(rng.Uint32())}[rng.IntN(10)/3]
	b := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, flags), typ)
	b = append(b, make([]byte, 4*bits.OnesCount16(flags))...)
	if typ == 0x88be && flags&0x1000 != 0 {
		b = append(b, make([]byte, 8)...)
	}
	if typ == bridging || typ == 0x88be {
		return append(b, someFrameWithIP(rng)...)
	}
	return append(b, someDatagram(rng, version)...)
}

// someUDP draws a UDP header and what follows.
func someUDP(rng *rand.Rand) []byte {
	port, header := framePorts[rng.IntN(4)], []byte{8, 0, 0, 0, 0, 0, 7, 0}
	var inside []byte
	switch rng.IntN(4) {
	case 0:
		port, inside = ipPort, someDatagram(rng, rng.IntN(2))
		copy(header, []byte{0x30 | byte(rng.IntN(8)/7)<<3, 0xff})
		binary.BigEndian.PutUint16(header[2:], uint16(len(inside)+max(0, rng.IntN(9)-6)-1))
	case 1:
		inside = make([]byte, rng.IntN(60))
	default:
		if inside = someFrameWithIP(rng); port == 6081 {
			words := max(0, rng.IntN(8)-4)
			copy(header, []byte{byte(words), byte(rng.IntN(2)) << 6, 0x65, 0x58})
			header = append(header, make([]byte, 4*words)...)
		}
	}
	switch rng.IntN(16) {
	case 0:
		port = otherPorts[rng.IntN(len(otherPorts))]
	case 1:
		port = uint16(rng.Uint32())
	case 2:
		port ^= uint16(rng.Uint32()) << 8
	}
	src := uint16(rng.Uint32())
	if rng.IntN(12) == 0 {
		src = sourcePorts[rng.IntN(len(sourcePorts))]
	}
	b := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, src), port)
	length := 8 + len(header) + len(inside)
	b = binary.BigEndian.AppendUint16(b, []uint16{uint16(length), uint16(length - 3), uint16(length + 3), 0, uint16(rng.IntN(60))}[max(0, rng.IntN(20)-15)])
	return slices.Concat(b, []byte{0, 0}, header, inside)
}

// spoil changes a byte of some datagrams, and cuts others.
func spoil(rng *rand.Rand, b []byte) []byte {
	switch rng.IntN(8) {
	case 0:
		b[rng.IntN(min(len(b), 100))] ^= 1 << rng.IntN(8)
	case 1:
		b = b[:rng.IntN(len(b))]
	}
	return b
}

// tunnelModel reads the headers of one tunnel one by one.
func tunnelModel(m digest.Message, protocol uint16, buf []byte) (inside digest.Message, is uint) {
	at := uint32(8)
	switch version := m.Tweak >> 60; {
	case version == 4 && m.Tweak&0x3fff != 0:
		return inside, noTunnel
	case version == 6:
		at = 28
	case version != 4:
		return inside, otherShape
	}
	d := buf[m.Off:][:m.Len][at:]
	start, end := -1, len(d)
	if protocol == 17 {
		if len(d) < 8 || m.Off+at+16 > uint32(len(buf)) {
			return inside, otherShape
		}
		src, dst := binary.BigEndian.Uint16(d), binary.BigEndian.Uint16(d[2:])
		if dst != ipPort && !slices.Contains(sourcePorts, src) && !slices.Contains(framePorts[:], dst) && !slices.Contains(otherPorts[:], dst) {
			return inside, noTunnel
		}
		if len(d) >= 40 {
			start, end = udpModel(dst, d)
		}
	} else if len(d) >= 24 {
		start = greModel(protocol, d)
	}
	if start < 0 || start+24 > end {
		return inside, otherShape
	}
	return digest.Message{Off: m.Off + at + uint32(start) - 14, Len: uint32(end-start) + 14}, plainTunnel
}

// udpModel returns where IP begins in a tunnel over UDP, or -1, and where the packet ends.
func udpModel(port uint16, d []byte) (start, end int) {
	end = min(len(d), int(binary.BigEndian.Uint16(d[4:])))
	switch {
	case port == ipPort && d[8]&0xf7 == 0x30 && d[9] == 0xff && (d[16]>>4 == 4 || d[16]>>4 == 6):
		return 16, min(end, 16+int(binary.BigEndian.Uint16(d[10:])))
	case port == 6081 && d[8]&0xc0 == 0 && d[9]&0x80 == 0 && d[10] == 0x65 && d[11] == 0x58:
		return inFrame(d[:max(end, 0)], 16+4*int(d[8]&0x3f)), end
	case port != 6081 && slices.Contains(framePorts[:], port) && d[8]&0x0d == 8:
		return inFrame(d[:end], 16), end
	}
	return -1, end
}

// inFrame returns where IP begins in a frame at offset o of d, or -1.
func inFrame(d []byte, o int) int {
	o += 14
	for tags := 0; o+24 <= len(d); tags++ {
		switch typ, nibble := binary.BigEndian.Uint16(d[o-2:]), d[o]>>4; {
		case typ == 0x0800 && nibble == 4, typ == 0x86dd && nibble == 6:
			return o
		case tags == 2 || typ != 0x8100 && typ != 0x88a8 && typ != 0x9100:
			return -1
		}
		o += 4
	}
	return -1
}

// greModel returns where IP begins in GRE or in IP, or -1.
func greModel(protocol uint16, d []byte) int {
	start, typ := 0, map[uint16]uint16{4: 0x0800, 41: 0x86dd}[protocol]
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
			return inFrame(d, start)
		}
	}
	if start >= len(d) || !(typ == 0x0800 && d[start]>>4 == 4 || typ == 0x86dd && d[start]>>4 == 6) {
		return -1
	}
	return start
}

// opened is how OpenTunnels leaves messages.
type opened struct {
	msgs         []digest.Message
	protocols    []uint16
	rest, others []uint64
	found        Found
}

// openModel opens tunnels one by one.
func openModel(d *Datagrams, o *opened, buf []byte, deep int) (depths [5]int) {
	for i := range o.msgs {
		depth := 0
		for carriers[o.protocols[i]] {
			inside, is := tunnelModel(o.msgs[i], o.protocols[i], buf)
			if is == noTunnel {
				break
			}
			if depth == deep || is == otherShape {
				o.others[i/64] |= 1 << (i % 64)
				break
			}
			one, protocol := []digest.Message{inside}, []uint16{0}
			rest, found := d.findEach(one, protocol, buf, 1)
			o.protocols[i], o.found = protocol[0], o.found|found
			if rest != 0 {
				o.rest[i/64] |= 1 << (i % 64)
				break
			}
			o.msgs[i] = one[0]
			depth++
		}
		depths[depth]++
	}
	return depths
}

// TestTunnels compares each kernel with the model.
func TestTunnels(t *testing.T) {
	rule := someTunnels(sourcePorts...)
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		var depths [5]int
		var rests, others, cuts, broken int
		for round := range 600 {
			d := NewDatagrams(rng.Uint64()|0xf000000000003fff, rng.Uint64()|0xf<<60, &[2][256]bool{1: {51: true}}).Untyped()
			n, deep := 1+rng.IntN(70), 1+rng.IntN(4)
			guarded := func() opened {
				return opened{
					kerneltest.Guarded[digest.Message](t, n, round%2 == 0), kerneltest.Guarded[uint16](t, n, round%2 == 1),
					kerneltest.Guarded[uint64](t, (n+63)/64, round%2 == 0), kerneltest.Guarded[uint64](t, (n+63)/64, round%2 == 1), 0,
				}
			}
			want, got := guarded(), guarded()
			var all []byte
			for i := range n {
				b := spoil(rng, append(make([]byte, datagramStart), someDatagram(rng, rng.IntN(2))...))
				want.msgs[i] = digest.Message{Off: uint32(len(all)), Len: uint32(len(b))}
				all = append(all, b...)
			}
			buf := kerneltest.Guarded[byte](t, len(all), round%3 == 0)
			copy(buf, all)
			d.findGeneric(want.msgs, want.protocols, want.rest, buf, 0)
			copy(got.msgs, want.msgs)
			copy(got.protocols, want.protocols)
			copy(got.rest, want.rest)
			got.others[0] = ^uint64(0)
			for i, is := range openModel(d, &want, buf, deep) {
				depths[i] += is
			}
			got.found = OpenTunnels(rule, d, got.msgs, got.protocols, got.rest, got.others, buf, deep)
			sameOpened(t, &got, &want)
			rests, others = rests+bits.OnesCount64(want.rest[0]), others+bits.OnesCount64(want.others[0])
			if want.found&FoundCut != 0 {
				cuts++
			}
			if want.found&FoundBroken != 0 {
				broken++
			}
		}
		if least := min(depths[0], depths[1], depths[2], depths[3], rests, others, cuts, broken, 600-broken); least < 100 {
			t.Errorf("depths %d, %d take the slow path, %d others, %d with cut ones, %d with broken ones", depths, rests, others, cuts, broken)
		}
	})
}

func sameOpened(t *testing.T, got, want *opened) {
	t.Helper()
	for i := range want.msgs {
		if got.protocols[i] != want.protocols[i] || got.msgs[i] != want.msgs[i] {
			t.Errorf("message %d: protocol %d, want %d; %+v, want %+v", i, got.protocols[i], want.protocols[i], got.msgs[i], want.msgs[i])
		}
	}
	if !slices.Equal(got.rest, want.rest) || !slices.Equal(got.others, want.others) || got.found != want.found {
		t.Errorf("rest %b, want %b; others %b, want %b; found %b, want %b", got.rest, want.rest, got.others, want.others, got.found, want.found)
	}
	if t.Failed() {
		t.FailNow()
	}
}

// FuzzTunnels compares every level with a model that reads headers one by one.
func FuzzTunnels(f *testing.F) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 40 {
		f.Add(someDatagram(rng, rng.IntN(2)), uint8(rng.Uint32()))
	}
	rule, d := someTunnels(sourcePorts...), NewDatagrams(^uint64(0), ^uint64(0), &[2][256]bool{1: {51: true}}).Untyped()
	f.Fuzz(func(t *testing.T, b []byte, deep uint8) {
		buf := kerneltest.Guarded[byte](t, datagramStart+len(b), true)
		copy(buf[datagramStart:], b)
		fresh := func() opened {
			o := opened{make([]digest.Message, 8), make([]uint16, 8), make([]uint64, 1), make([]uint64, 1), 0}
			for i := range o.msgs {
				o.msgs[i] = digest.Message{Len: uint32(max(len(buf)-i*i, 0))}
			}
			d.findGeneric(o.msgs, o.protocols, o.rest, buf, 0)
			return o
		}
		want := fresh()
		openModel(d, &want, buf, int(deep%4)+1)
		for _, level := range cpu.Levels() {
			got := fresh()
			kerneltest.AtLevel(level, func() {
				got.found = OpenTunnels(rule, d, got.msgs, got.protocols, got.rest, got.others, buf, int(deep%4)+1)
			})
			sameOpened(t, &got, &want)
		}
	})
}
