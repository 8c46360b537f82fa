// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Messages lie in the batch, which stays as it is. Where some of their first bytes do not count,
// they are digested under a mask. A mask follows from the protocol and from where the headers are, so
// nearly all frames share a few masks. A message with fields behind the mask is copied.

// layout has the number of the mask for messages that have their headers at the same places.
type layout struct {
	key    uint32 // see layoutKey
	number uint8
	far    bool // such messages are copied
}

// layouts are kept by key. A new layout may take the place of an old one; common layouts do not share
// their places.
type layouts [1024]layout

func (l *layouts) at(key uint32) *layout { return &l[key*0x9e3779b1>>22] }

// layoutKey returns a number for where the headers of a datagram are: ip counts from the message,
// and upper from the IP header. It returns 0 if there is no number.
func layoutKey(ip, upper uint32, version, proto uint8, echo bool) uint32 {
	ip += MessageStart
	if ip > 0xff || upper > 0xff {
		return 0
	}
	key := 1<<31 | ip<<20 | upper<<12 | uint32(proto)<<2 | uint32(version&2)>>1
	if echo {
		key |= 2
	}
	return key
}

// leaveOut leaves out what does not count of message i, which has d. It reports whether the same mask is for
// all messages with their headers at the same places, as far as their protocol does not vary.
func (g *Identity) leaveOut(i int, d *datagram) bool {
	if g.masks == nil {
		return false
	}
	m, upper, key := &g.out.msgs[i], uint32(0), uint32(0)
	if d.upper != 0 {
		upper = d.upper - d.ip
	}
	if !g.variesWith(d) {
		key = layoutKey(d.ip-m.Off, upper, d.version, d.proto, g.ignore&NAT != 0 && d.isEcho(g.out.buf))
	}
	l := *g.known.at(key)
	if key == 0 || l.key != key {
		number, ok := g.maskOf(m, &linkParts{}, d)
		l = layout{key, number, !ok}
		*g.known.at(key) = l
	}
	g.out.which[i] = l.number
	if l.far {
		g.copyMessage(i, &linkParts{}, d)
	}
	return key != 0 && !l.far
}

// maskOf returns the number of the mask for a message. It returns false if no mask can leave out
// all that does not count.
func (g *Identity) maskOf(m *digest.Message, l *linkParts, d *datagram) (number uint8, ok bool) {
	e := eraser{off: m.Off, mask: digest.AllCount()}
	g.drop(&e, l, d)
	if e.far {
		return 0, false
	}
	return g.masks.Number(e.mask)
}

// copyMessage copies message i, and leaves out what does not count there.
func (g *Identity) copyMessage(i int, l *linkParts, d *datagram) {
	m := &g.out.msgs[i]
	e := eraser{off: m.Off + l.cut, copy: g.addCopy(i, m.Len, m.Tweak)}
	l.copyTo(e.copy, g.out.buf[m.Off:])
	g.drop(&e, l, d)
}

// drop leaves out what does not count of a message with d, or without IP with nil.
func (g *Identity) drop(e *eraser, l *linkParts, d *datagram) {
	for _, at := range l.addresses[:l.count] {
		e.drop(e.off+at, 6, 0xff)
	}
	if d != nil {
		g.dropDatagram(e, d, g.out.buf)
	}
}

// shape is where a datagram that kernels find has its parts.
type shape struct {
	ip      uint32 // how much of it comes before its message
	upper   uint32 // offset of the header after IP, or 0
	version uint8
	key     uint32 // layoutKey of a message that begins with the datagram, without protocol
	tcp     uint32 // how far behind the start of the message the header after IP begins
}

func newShape(ip, upper uint32, version uint8) shape {
	return shape{ip, upper, version, layoutKey(0, upper, version, 0, false), upper - min(ip, upper)}
}

// The shapes of datagrams that kernels find.
const (
	shape4 = iota
	shapeFragment4
	shape6
	shapeTruncated6 // its message begins with byte 8
)

var shapes = [...]shape{
	shape4:          newShape(MessageStart, 20, 4),
	shapeFragment4:  newShape(MessageStart, 0, 4),
	shape6:          newShape(MessageStart, 40, 6),
	shapeTruncated6: newShape(truncatedStart, 40, 6),
}

// shapeOf returns the shape of a datagram whose message has a tweak: its first four bits are 4, 6, or 7 for a
// truncated datagram of IPv6. A CPU cannot predict the mix of versions, so there is no branch.
func shapeOf(tweak uint64) int {
	const offset = 0x1fff
	version := tweak >> 60
	isLater := (tweak&offset + offset) >> 13 &^ (version >> 1) // a later fragment of IPv4
	return int((version | isLater) & uint64(len(shapes)-1))
}

// quickMasks has the numbers of masks for messages that begin in a datagram where its shape says, by shape
// and protocol, and above them a bit of the two.
type quickMasks [len(shapes)][256]uint16

const (
	isQuick    = 1 << 8
	isQuickTCP = 2 << 8 // for usual headers of TCP
)

// layOutFound lays out messages from number first on, which are datagrams that a kernel has found
// in frames. It marks some for the slow path.
func (g *Identity) layOutFound(msgs []digest.Message, protocols []headers.Protocol, frames []capture.Frame, first int) {
	if g.short {
		g.maskFound(msgs, protocols, first)
		return
	}
	protocols = protocols[:len(msgs)]
	for i := range msgs {
		if capture.IsSet(g.slow, i) {
			continue
		}
		m, proto := &msgs[i], uint8(protocols[i])
		at := shapeOf(m.Tweak)
		s := &shapes[at]
		ip, end := m.Off-s.ip, m.Off+m.Len
		if g.kind != Frame {
			*m = digest.Message{Off: ip, Len: end - ip, Tweak: tweakL3}
		} else if !g.foundFrame(m, ip, &frames[i]) {
			capture.SetBit(g.slow, i)
			continue
		}
		if g.masks == nil {
			continue
		}
		key := s.key + (ip-m.Off)<<20 + uint32(proto)<<2
		if l := g.known.at(key); l.key == key && !l.far && (g.varies[proto] == 0 || proto == iana.ProtoTCP && g.ignore.isUsual(g.out.buf, ip+s.upper, end)) {
			g.out.which[first+i] = l.number
			continue
		}
		d := s.datagram(ip, end, proto)
		g.leaveOut(first+i, &d)
	}
}

// maskFound is layOutFound for messages whose beginning is in their tweak, as in most runs. A CPU cannot
// predict the mix of protocols, so all are asked what counts for TCP, and only rare messages have a branch.
func (g *Identity) maskFound(msgs []digest.Message, protocols []headers.Protocol, first int) {
	const at12, plain = 12, tcpOptions / 4 << 4 // the size of a TCP header without options
	counts := uint16(0xf0)                      // of the size, and of the flags behind it
	if g.ignore&MSS != 0 {
		counts |= 2 << 8 // SYN
	}
	protocols, which, buf := protocols[:len(msgs)], g.out.which[first:][:len(msgs)], g.out.buf
	for i := range msgs {
		m := &msgs[i]
		at := shapeOf(m.Tweak)
		q, tcp := g.quick[at][uint8(protocols[i])], shapes[at].tcp
		m.Tweak &= g.tweakMasks[at] // which leaves the shape
		which[i] = uint8(q)
		if word := uint(m.Off+tcp) + at12; word+1 < uint(len(buf)) {
			differs := uint64((uint16(buf[word])|uint16(buf[word+1])<<8)&counts ^ plain)
			isPlain := (differs - 1) & (uint64(tcp+tcpOptions-1) - uint64(m.Len)) >> 63
			if q&uint16(isQuick|isQuickTCP*isPlain) != 0 {
				continue
			}
		}
		g.maskOther(m, uint8(protocols[i]), first, i)
	}
}

// maskOther chooses the mask of message first+i, unless it is for the slow path.
func (g *Identity) maskOther(m *digest.Message, proto uint8, first, i int) {
	if capture.IsSet(g.slow, i) {
		return
	}
	at := shapeOf(m.Tweak)
	s := &shapes[at]
	d := s.datagram(m.Off-s.ip, m.Off+m.Len, proto)
	q := &g.quick[at][proto]
	if *q&isQuickTCP != 0 && g.ignore.isUsual(g.out.buf, d.upper, d.end) {
		return
	}
	if g.leaveOut(first+i, &d) {
		*q = isQuick<<g.varies[proto] | uint16(g.out.which[first+i])
	}
}

// datagram returns the datagram of a shape between two offsets of Batch.Buf.
func (s *shape) datagram(ip, end uint32, proto uint8) datagram {
	d := datagram{ip: ip, end: end, version: s.version, proto: proto}
	if s.upper > 0 {
		d.upper = ip + s.upper
	}
	return d
}

// foundFrame lays out the message of an Ethernet frame whose datagram begins at offset ip. It
// returns false if tags do not count, but the addresses before them do.
func (g *Identity) foundFrame(m *digest.Message, ip uint32, f *capture.Frame) bool {
	const header = linkAddresses + 2
	*m = digest.Message{Off: f.Data, Len: f.CapLen, Tweak: tweakFrame | uint64(f.WireLen)}
	tags := uint32(0)
	if g.ignore&VLAN != 0 {
		tags = ip - f.Data - header
	}
	if g.ignore&MAC == 0 {
		return tags == 0
	}
	skipped := linkAddresses + tags
	*m = digest.Message{Off: m.Off + skipped, Len: m.Len - skipped, Tweak: tweakBare | uint64(f.WireLen-tags)}
	return true
}

// varying returns the protocols for which bytes behind the IP header say what counts: 1 if they do not in
// usual headers of TCP, else 2.
func (f Fields) varying() (varies [256]uint8) {
	if f&(TCPSeq|MSS|TCPHeader) != 0 {
		varies[iana.ProtoTCP] = 1
	}
	if f&NAT != 0 {
		varies[iana.ProtoICMP] = 2
	}
	return varies
}
