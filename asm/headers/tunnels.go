// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// Tunnels says which datagrams hold a plain tunnel: over UDP a header of 8 bytes, then an
// Ethernet frame without tags and IP, or IP; GRE of version 0 without routes, or with the header of
// ERSPAN of type I or II, with the same behind it; or IP. It is immutable. The kernel in assembly knows where
// its fields are up to ports.
type Tunnels struct {
	frames [4]tunnelShape // with an Ethernet frame
	ip     tunnelShape    // with IP, and its length in bytes 2 and 3 of the header
	from   uint64         // the source port of other tunnels, as the kernel reads it
	ports  [12]uint64     // the destination ports of all tunnels, as the kernel reads them
	tunnel [256]uint16    // the ports by their low bytes
	shapes [256]uint8     // likewise, 1 more than the number of a shape, or 0; the last one is ip
}

// tunnelShape has a destination port as the kernel reads it, and the bits of a header, little-endian,
// that have a value.
type tunnelShape struct{ port, mask, value uint64 }

// TunnelShape is a plain tunnel: a destination port, and the bits of its header, big-endian, that
// have a value.
type TunnelShape struct {
	Port        uint16
	Mask, Value uint64
}

const tunnelIP = 4 // the number of the shape with IP

// NewTunnels returns a rule. The header of ip has the length of what follows in bytes 2 and 3.
// ports are the destination ports of all tunnels, the plain ones included, and from is a source
// port. NewTunnels panics if two ports have the same low byte, one is 0, or there are none or more
// than 12.
func NewTunnels(frames [4]TunnelShape, ip TunnelShape, ports []uint16, from uint16) *Tunnels {
	t := &Tunnels{from: uint64(swap16(from))}
	if len(ports) > len(t.ports) {
		panic("headers: NewTunnels: too many ports")
	}
	for i := range t.ports {
		t.ports[i] = uint64(swap16(ports[i%len(ports)])) << 16
	}
	for _, port := range ports {
		if t.tunnel[port%256] != 0 || port == 0 {
			panic("headers: NewTunnels: ports with the same low byte")
		}
		t.tunnel[port%256] = port
	}
	shape := func(s TunnelShape, number uint8) tunnelShape {
		t.shapes[s.Port%256] = number + 1
		return tunnelShape{uint64(swap16(s.Port)) << 16, swap64(s.Mask), swap64(s.Value)}
	}
	for i, s := range frames {
		t.frames[i] = shape(s, uint8(i))
	}
	t.ip = shape(ip, tunnelIP)
	return t
}

func swap16(v uint16) uint16 { return v<<8 | v>>8 }

func swap64(v uint64) uint64 {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], v)
	return binary.LittleEndian.Uint64(b[:])
}

const (
	tunnelHeaders = 8 + 8              // UDP's and the tunnel's
	tunnelLeast   = tunnelHeaders + 24 // with the least of IP that FindDatagrams takes
	tunnelSlack   = 8                  // elements of room that the kernel needs after the last one
)

// Open opens plain tunnels. numbers has the numbers of messages that FindDatagrams has made of
// datagrams in buf. Those with a plain tunnel stay in numbers, and each gets a message in inside:
// from 14 bytes before its IP header to the last byte that the datagram may have, as the rules
// Untyped expect it. Those over UDP that have no tunnel by their ports are dropped. All others go
// to others: fragments, other protocols and shapes, and what is shorter than a plain tunnel over UDP
// or was captured in part over IPv6. inside and others are memory that is used again. Open takes constant
// time for each number.
func (t *Tunnels) Open(numbers, others []uint32, inside, msgs []digest.Message, buf []byte) (plain, rest []uint32, opened []digest.Message) {
	room := len(numbers) + tunnelSlack
	if cap(inside) < room {
		inside = make([]digest.Message, room+room/8)
	}
	if cap(others) < room {
		others = make([]uint32, room+room/8)
	}
	inside, others = inside[:room], others[:room]
	done, n, o := t.openVectors(numbers, others, inside, msgs, buf)
	for _, i := range numbers[done:] {
		m, is := t.open(&msgs[i], buf)
		numbers[n], inside[n], others[o] = i, m, i
		n += int(is & 1)
		o += int(is >> 1)
	}
	return numbers[:n], others[:o], inside[:n]
}

// What open finds.
const (
	noTunnel    = 0
	plainTunnel = 1
	otherShape  = 2
)

// open does one.
func (t *Tunnels) open(m *digest.Message, buf []byte) (inside digest.Message, is uint) {
	const udp4, udp6, bits4 = 0x4011 << 48, 0x611, 0xf0ff<<48 | 0x3fff
	at, ends := m.Off+20-datagramSkip, m.Off+m.Len
	if m.Tweak>>52 == udp6 {
		at = m.Off + 40 - datagramSkip
	} else if m.Tweak&bits4 != udp4 {
		return openWithoutUDP(m, buf)
	}
	if int64(ends)-int64(at) < tunnelLeast {
		return inside, otherShape
	}
	upper := (*[tunnelLeast]byte)(buf[at:])
	port := binary.BigEndian.Uint16(upper[2:])
	if t.tunnel[port%256] != port || port == 0 {
		if uint64(binary.LittleEndian.Uint16(upper[:])) == t.from {
			return inside, otherShape
		}
		return inside, noTunnel
	}
	ip, length := at+tunnelHeaders, uint64(binary.BigEndian.Uint16(upper[4:]))
	shape := &t.ip
	switch number := t.shapes[port%256]; number {
	case 0:
		return inside, otherShape
	case tunnelIP + 1:
		length = min(length, tunnelHeaders+uint64(binary.BigEndian.Uint16(upper[10:])))
	default:
		shape, ip = &t.frames[number-1], ip+datagramStart
	}
	before, kind := uint64(binary.LittleEndian.Uint32(buf[ip-2:])), &ethertypes
	if shape == &t.ip {
		kind = &versions
		before = before & 0xf00000
	}
	before &= 0xf0ffff
	end := min(uint64(ends), uint64(at)+length)
	if binary.LittleEndian.Uint64(upper[8:])&shape.mask != shape.value || !kind.leads(before) || end <= uint64(ip) {
		return inside, otherShape
	}
	return digest.Message{Off: ip - datagramStart, Len: uint32(end) - ip + datagramStart}, plainTunnel
}

// openWithoutUDP does one that is not over UDP.
func openWithoutUDP(m *digest.Message, buf []byte) (inside digest.Message, is uint) {
	const bits4, whole4, least = 0xf<<60 | 0x3fff, 4 << 60, 24
	at, ends, protocol := uint64(m.Off)+20-datagramSkip, uint64(m.Off)+uint64(m.Len), uint8(m.Tweak>>48)
	if m.Tweak>>60 == 6 {
		at, protocol = uint64(m.Off)+40-datagramSkip, uint8(m.Tweak>>52)
	} else if m.Tweak&bits4 != whole4 {
		return inside, otherShape
	}
	if int64(ends-at) < tunnelLeast {
		return inside, otherShape
	}
	n, typ := uint64(0), uint16(0)
	switch protocol {
	case 4:
		typ = 0x0800
	case 41:
		typ = 0x86dd
	case 47:
		n, typ = behindGRE(buf[at:])
	}
	ip := at + n
	if typ == 0 || int64(ends-ip) < least {
		return inside, otherShape
	}
	before := uint64(binary.LittleEndian.Uint32(buf[ip-2:]))
	if typ == bridging && ethertypes.leads(before&0xf0ffff) || typ != bridging && versions.leads(before&0xf00000) && (typ == 0x0800) == (before&0x200000 == 0) {
		return digest.Message{Off: uint32(ip) - datagramStart, Len: uint32(ends-ip) + datagramStart}, plainTunnel
	}
	return inside, otherShape
}

const bridging = 0x6558 // the ethertype of an Ethernet frame

// behindGRE returns how far behind the start of a header IP begins if all is plain, and the
// ethertype of what the header carries, or 0.
func behindGRE(header []byte) (n uint64, typ uint16) {
	const routesOrVersion, sequence, erspan = 0x4007, 0x1000, 0x88be
	flags, typ := binary.BigEndian.Uint16(header), binary.BigEndian.Uint16(header[2:])
	n = 4 + 4*uint64(flags>>15+flags>>13&1+flags>>12&1)
	switch {
	case flags&routesOrVersion != 0:
		return 0, 0
	case typ == 0x0800 || typ == 0x86dd:
		return n, typ
	case typ == erspan && flags&sequence != 0:
		return n + 8 + datagramStart, bridging
	case typ == erspan || typ == bridging:
		return n + datagramStart, bridging
	}
	return 0, 0
}

// leads reports whether bytes 12 to 14 of a frame lead to IP of the version that they name.
func (t *types) leads(bits uint64) bool {
	four, six := t.ip[0]&0xffff|0x400000, t.ip[1]&0xffff|0x600000
	return bits == four || bits == six
}
