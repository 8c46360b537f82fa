// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// Tunnels says which datagrams hold a plain tunnel: over UDP a header of 8 bytes and options, then
// an Ethernet frame with up to two VLAN tags and IP, or IP; GRE of version 0 without routes, or with
// the header of ERSPAN of type I or II, with the same behind it; or IP. It is immutable. The kernel
// in assembly knows where its fields are up to low.
type Tunnels struct {
	frames  [4]tunnelShape // with an Ethernet frame
	ip      tunnelShape    // with IP, and its length in bytes 2 and 3 of the header
	from    [8]uint64      // source ports of other tunnels, as the kernel reads them, by three bits from shift on
	shift   uint64
	ports   []uint64    // the destination ports of all tunnels, as the kernel reads them
	carries [8]uint64   // a bit for each protocol that can carry packets, twice
	low     [8]uint64   // a bit for each low byte of a port, twice
	tunnel  [256]uint16 // the ports by their low bytes
	more    []uint16    // ports whose low byte another port has
	shapes  [256]uint8  // by low bytes, 1 more than the number of a shape, or 0; the last shape is ip
	// anySource says that from has no room for the source ports. Each datagram over UDP that is to
	// no port of a tunnel may then have a tunnel.
	anySource bool
}

// tunnelShape has a destination port as the kernel reads it, the bits of a header, little-endian,
// that have a value, and the bits that count words of options.
type tunnelShape struct{ port, mask, value, words uint64 }

// TunnelShape is a plain tunnel: a destination port, the bits of its header, big-endian, that
// have a value, and the low bits of its first byte that count words of four bytes of options.
type TunnelShape struct {
	Port        uint16
	Mask, Value uint64
	Words       uint8
}

const tunnelIP = 4 // the number of the shape with IP

// NewTunnels returns a rule. carries marks the protocols that can carry packets. The header of ip
// has the length of what follows in bytes 2 and 3, and no options. ports are the destination ports
// of all tunnels, of plain tunnels too, and from are source ports. A shape whose port is not
// among the ports is none.
func NewTunnels(frames [4]TunnelShape, ip TunnelShape, ports, from []uint16, carries *[256]bool) *Tunnels {
	t := &Tunnels{carries: protocolBits(&[2][256]bool{*carries, *carries})}
	shape := func(s TunnelShape, number uint8) tunnelShape {
		if !slices.Contains(ports, s.Port) || s.Port == 0 {
			return tunnelShape{value: 1} // which no header has
		}
		t.tunnel[s.Port%256], t.shapes[s.Port%256] = s.Port, number+1
		return tunnelShape{uint64(swap16(s.Port)) << 16, swap64(s.Mask), swap64(s.Value), uint64(s.Words)}
	}
	for i, s := range frames {
		t.frames[i] = shape(s, uint8(i))
	}
	t.ip = shape(ip, tunnelIP)
	t.setPorts(ports)
	t.anySource = !t.setSources(from)
	return t
}

func (t *Tunnels) setPorts(ports []uint16) {
	var low [256]bool
	for _, port := range ports {
		at := &t.tunnel[port%256]
		switch {
		case *at == 0:
			*at = port
		case *at != port:
			t.more = append(t.more, port)
		}
		low[port%256] = true
		t.ports = append(t.ports, uint64(swap16(port))<<16)
	}
	t.low = protocolBits(&[2][256]bool{low, low})
	if len(ports) == 0 {
		t.ports = []uint64{1} // which no datagram has
	}
}

// setSources finds three bits in which all source ports differ. It returns false if there are none.
func (t *Tunnels) setSources(ports []uint16) bool {
	const none = 1 << 16 // no port
	for t.shift = range uint64(14) {
		for i := range t.from {
			t.from[i] = none
		}
		free := 0
		for _, port := range ports {
			at := &t.from[uint64(swap16(port))>>t.shift%8]
			if *at == none {
				free++
			}
			*at = uint64(swap16(port))
		}
		if free == len(ports) {
			return true
		}
	}
	return false
}

// answers reports whether datagrams from a source port, as the kernel reads it, may belong to a
// tunnel.
func (t *Tunnels) answers(src uint16) bool {
	return t.anySource || t.from[uint64(src)>>t.shift%8] == uint64(src)
}

// isTunnel reports whether a destination port is a port of tunnels.
func (t *Tunnels) isTunnel(port uint16) bool {
	return t.tunnel[port%256] == port && port != 0 || len(t.more) > 0 && slices.Contains(t.more, port)
}

func swap16(v uint16) uint16 { return v<<8 | v>>8 }

func swap64(v uint64) uint64 {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], v)
	return binary.LittleEndian.Uint64(b[:])
}

const (
	udpHeader     = 8
	tunnelHeaders = udpHeader + 8      // UDP's and the tunnel's
	tunnelLeast   = tunnelHeaders + 24 // with the least of IP that FindDatagrams takes
	ipLeast       = 24
)

// OpenTunnels opens up to deep plain tunnels in each other. msgs and protocols are as FindDatagrams
// leaves them; msgs lie in buf. It replaces each message by the datagram in its last plain tunnel,
// and its protocol, as FindDatagrams would with d, which must be Untyped.
//
// Datagrams that FindDatagrams leaves to the slow path have their bit in rest set, and protocol 0;
// other bits of rest stay as they are. Bits in others mark messages that may have a tunnel still:
// of another shape, too short for a plain tunnel or at the end of buf, truncated over IPv6, or
// in as many others as deep. Fragments, and datagrams that have no tunnel by their protocol and
// ports, are done. OpenTunnels returns what some datagrams in tunnels are. It takes constant time for
// each message and tunnel, does not allocate, and panics if protocols, rest or others are too short.
func OpenTunnels[P ~uint16](t *Tunnels, d *Datagrams, msgs []digest.Message, protocols []P, rest, others []uint64, buf []byte, deep int) (found Found) {
	numbers := unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(protocols[:len(msgs)]))), len(msgs))
	words := (len(msgs) + 63) / 64
	rest, others = rest[:words], others[:words]
	clear(others)
	done, found := t.openVectors(d, msgs, numbers, rest, others, buf, deep)
	for i := done &^ 63; i < len(msgs); i += 64 {
		end := min(i+64, len(msgs))
		found |= t.openGeneric(d, msgs[i:end], numbers[i:end], &rest[i/64], &others[i/64], buf, max(done-i, 0), deep)
	}
	return found
}

// carry returns 1 for a protocol that can carry packets, else 0.
func (t *Tunnels) carry(protocol uint16) uint64 {
	return t.carries[protocol>>6&3] >> (protocol & 63) & 1
}

// openGeneric does up to 64 messages from number from on, in rounds over those that have a tunnel:
// kernels take many at a time. A CPU cannot predict which messages have a protocol that can carry
// packets, so no branch depends on it.
func (t *Tunnels) openGeneric(d *Datagrams, msgs []digest.Message, numbers []uint16, rest, others *uint64, buf []byte, from, deep int) (found Found) {
	var r tunnelRound
	for todo := t.carrying(numbers) >> from << from; todo != 0; deep-- {
		*others |= t.place(&r, msgs, numbers, todo, buf)
		if deep <= 0 || r.n == 0 {
			for _, i := range r.list[:r.n] {
				*others |= 1 << (i % 64)
			}
			break
		}
		var some Found
		todo, some = t.read(&r, d, msgs, numbers, rest, buf)
		found |= some
	}
	return found
}

// tunnelRound has the plain tunnels of up to 64 messages: which messages have them, and the places of
// their datagrams. The kernels know its layout up to list.
type tunnelRound struct {
	inside [64]digest.Message
	list   [64]uint8
	n      int
	// inOrder says that list ascends.
	inOrder bool
}

// place finds one tunnel of each message whose bit is set in todo, and returns which of them have a
// tunnel of another shape.
func (t *Tunnels) place(r *tunnelRound, msgs []digest.Message, numbers []uint16, todo uint64, buf []byte) (others uint64) {
	r.n, todo = t.placePlain(r, msgs, numbers, todo, buf)
	r.inOrder = todo == 0 || r.n == 0
	for ; todo != 0; todo &= todo - 1 {
		i := bits.TrailingZeros64(todo)
		is := t.open(&msgs[i], numbers[i], buf, &r.inside[r.n%64])
		r.list[r.n%64] = uint8(i)
		r.n += int(is & 1)
		others |= uint64(is>>1) << (i % 64)
	}
	return others
}

// read replaces the messages of a round by the datagrams in their tunnels. It returns which of these
// have a protocol that can carry packets.
func (t *Tunnels) read(r *tunnelRound, d *Datagrams, msgs []digest.Message, numbers []uint16, rest *uint64, buf []byte) (todo uint64, found Found) {
	var protocols [64]uint16
	var slow [1]uint64
	found = FindDatagrams(d, r.inside[:r.n], protocols[:r.n], slow[:(r.n+63)/64], buf)
	if r.n == len(msgs) && r.inOrder && slow[0] == 0 {
		copy(msgs, r.inside[:])
		copy(numbers, protocols[:])
		return t.carrying(numbers), found
	}
	for j, i := range r.list[:r.n] {
		numbers[i] = protocols[j%64]
		todo |= t.carry(protocols[j%64]) << (i % 64)
		if slow[0]>>(j%64)&1 == 0 {
			msgs[i] = r.inside[j%64]
		} else {
			*rest |= 1 << (i % 64)
		}
	}
	return todo, found
}

// carrying returns which of up to 64 protocols can carry packets.
func (t *Tunnels) carrying(numbers []uint16) (which uint64) {
	done, which := t.carryingVectors(numbers)
	for i := done; i < len(numbers); i++ {
		which |= t.carry(numbers[i]) << (i % 64)
	}
	return which
}

// What open finds.
const (
	noTunnel    = 0
	plainTunnel = 1
	otherShape  = 2
)

// outerIP says, by the first four bits of a tweak, how far behind the start of a message the header
// above IP begins, and which bits of the tweak only fragments have. Datagrams that are neither whole
// nor fragments have zeros.
var outerIP = [16]struct {
	upper    int64
	fragment uint64
}{4: {20 - datagramSkip, 0x3fff}, 6: {40 - datagramSkip, 0}}

// open does one tunnel. If it is plain, inside gets the place of its datagram, from 14 bytes before
// the IP header to the last byte that the datagram may have.
func (t *Tunnels) open(m *digest.Message, protocol uint16, buf []byte, inside *digest.Message) uint {
	const protocolUDP = 17
	outer := &outerIP[m.Tweak>>60]
	at, ends := int64(m.Off)+outer.upper, int64(m.Off)+int64(m.Len)
	if outer.upper == 0 {
		return otherShape
	}
	if m.Tweak&outer.fragment != 0 {
		return noTunnel
	}
	if protocol != protocolUDP {
		return openWithoutUDP(protocol, at, ends, buf, inside)
	}
	if ends-at < udpHeader || at+tunnelHeaders > int64(len(buf)) {
		return otherShape
	}
	upper := (*[tunnelHeaders]byte)(buf[at:])
	port := binary.BigEndian.Uint16(upper[2:])
	if !t.isTunnel(port) {
		if t.answers(binary.LittleEndian.Uint16(upper[:])) {
			return otherShape
		}
		return noTunnel
	}
	number := t.shapes[port%256]
	if t.tunnel[port%256] != port {
		number = 0 // of the port with the same low byte
	}
	if ends-at < tunnelLeast || number == 0 {
		return otherShape
	}
	ends = min(ends, at+int64(binary.BigEndian.Uint16(upper[4:])))
	if number == tunnelIP+1 {
		return t.openIP(at+tunnelHeaders, ends, buf, inside)
	}
	bits, shape := binary.LittleEndian.Uint64(upper[udpHeader:]), &t.frames[(number-1)%tunnelIP]
	if bits&shape.mask != shape.value {
		return otherShape
	}
	ip := at + tunnelHeaders + datagramStart + int64(bits&shape.words)*4
	// Most frames have no tags, so they take no further call.
	if ends-ip >= ipLeast && leads(binary.LittleEndian.Uint32(buf[ip-2:])) {
		return plainAt(ip, ends, inside)
	}
	return frameAt(ip, ends, buf, inside)
}

// openIP does a tunnel of the shape with IP, which begins at offset ip of buf.
func (t *Tunnels) openIP(ip, ends int64, buf []byte, inside *digest.Message) uint {
	header := buf[ip-8 : ip+1]
	ends = min(ends, ip+int64(binary.BigEndian.Uint16(header[2:])))
	version := header[8] >> 4
	if binary.LittleEndian.Uint64(header)&t.ip.mask != t.ip.value || ends-ip < ipLeast || version != 4 && version != 6 {
		return otherShape
	}
	return plainAt(ip, ends, inside)
}

// plainAt places the datagram whose IP header begins at offset ip.
func plainAt(ip, ends int64, inside *digest.Message) uint {
	inside.Off, inside.Len = uint32(ip)-datagramStart, uint32(ends-ip)+datagramStart
	return plainTunnel
}

// frameAt does a frame whose header without tags ends at offset ip of buf.
func frameAt(ip, ends int64, buf []byte, inside *digest.Message) uint {
	for tags := 0; ends-ip >= ipLeast; tags++ {
		word := binary.LittleEndian.Uint32(buf[ip-2:])
		if leads(word) {
			return plainAt(ip, ends, inside)
		}
		if typ := word & 0xffff; tags == datagramTags || typ != 0x0081 && typ != 0xa888 && typ != 0x0091 {
			break
		}
		ip += 4
	}
	return otherShape
}

// leads reports whether an ethertype and the two bytes behind it, little-endian, lead to IP of the
// version that both name. A CPU cannot predict which version that is, so no branch depends on it.
func leads(word uint32) bool {
	both := uint64(word & 0xf0ffff)
	return (both^0x400008)*(both^0x60dd86) == 0
}

// openWithoutUDP does a tunnel that is not over UDP, with the header above IP at offset at.
func openWithoutUDP(protocol uint16, at, ends int64, buf []byte, inside *digest.Message) uint {
	if ends-at < ipLeast {
		return otherShape
	}
	n, typ := 0, uint16(0)
	switch protocol {
	case 4:
		typ = 0x0800
	case 41:
		typ = 0x86dd
	case 47:
		n, typ = BehindGRE(buf[at:])
	}
	ip := at + int64(n)
	if typ == bridging {
		return frameAt(ip+datagramStart, ends, buf, inside)
	}
	if ends-ip < ipLeast || !leads(uint32(swap16(typ))|uint32(buf[ip])<<16) {
		return otherShape
	}
	return plainAt(ip, ends, inside)
}

const bridging = 0x6558 // the ethertype of an Ethernet frame

// BehindGRE returns the length of a GRE header of version 0 without routes (RFC 2784, RFC 2890), with
// an ERSPAN header behind it, and the ethertype of the packet inside. For other headers the ethertype
// is 0.
func BehindGRE(header []byte) (n int, typ uint16) {
	const routesOrVersion, sequence, erspan = 0x4007, 0x1000, 0x88be
	if len(header) < 4 {
		return 0, 0
	}
	flags, typ := binary.BigEndian.Uint16(header), binary.BigEndian.Uint16(header[2:])
	if flags&routesOrVersion != 0 {
		return 0, 0
	}
	n = GRELength(flags)
	if typ != erspan {
		return n, typ
	}
	if flags&sequence != 0 {
		n += 8
	}
	return n, bridging
}

// GRELength returns the length of a GRE header of version 0 with these flags, without its routes:
// a checksum or routes, a key and a sequence number take four bytes each.
func GRELength(flags uint16) int {
	return 4 + 4*int((flags>>15|flags>>14&1)+flags>>13&1+flags>>12&1)
}
