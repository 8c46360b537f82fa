// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Which bytes of a datagram do not count follows from its version and protocol, where the
// kernels find it. So these edits are made once, as plans.

// plan lists the words of a message in which bytes are zero.
type plan struct {
	words [8]planWord
	count int
	least uint32 // how long a message is that has them
	// other says that more depends on the packet: numbers in options of TCP, the type of ICMP.
	other bool
}

// planWord is 8 bytes of a message.
type planWord struct {
	at   uint32
	gone uint64 // the bits that do not count
}

// The shapes of datagrams that kernels find.
const (
	shape4 = iota
	shapeFragment4
	shape6
	shapeTruncated6 // its message begins with byte 8
	shapes
)

// plans has a plan for each shape and protocol.
type plans [shapes][256]plan

// newPlans returns nil if nothing behind the masks of IP is ignored.
func (f Fields) newPlans() *plans {
	if f&upperFields == 0 {
		return nil
	}
	all := new(plans)
	for shape := range all {
		for proto := range all[shape] {
			all[shape][proto] = f.newPlan(shape, uint8(proto))
		}
	}
	return all
}

// newPlan lays out which of the first 64 bytes of a message do not count.
func (f Fields) newPlan(shape int, proto uint8) plan {
	const size = 64
	var gone [size + 8]byte
	leave := func(at, n int) {
		for i := range n {
			gone[at+i] = 0xff
		}
	}
	// Where the addresses and the header behind IP begin in the message.
	addresses, length, upper := 0, 2*4, 8
	switch shape {
	case shape6:
		addresses, length, upper = 0, 2*16-4, 28
	case shapeTruncated6:
		addresses, length, upper = 0, 2*16, 32
	}
	if f&NAT != 0 {
		leave(addresses, length)
	}
	p := plan{}
	if shape != shapeFragment4 {
		offset, n := checksumAt(proto)
		renumbered := f&TCPSeq != 0 && proto == iana.ProtoTCP
		if renumbered || f&(L4Checksum|NAT) != 0 {
			leave(upper+int(offset), int(n))
		}
		if renumbered {
			leave(upper+4, 8)
		}
		if f&NAT != 0 && iana.PortMask[proto] != 0 {
			leave(upper, 4)
		}
		p.other = renumbered || f&NAT != 0 && proto == iana.ProtoICMP
	}
	for at := 0; at < size; at++ {
		if gone[at] == 0 {
			continue
		}
		end := at + 8
		for gone[end-1] == 0 {
			end--
		}
		// A word ends with the last byte: behind it the message may end.
		start := max(end-8, 0)
		p.words[p.count] = planWord{uint32(start), le64(gone[start:])}
		p.count, p.least = p.count+1, uint32(start+8)
		at = end - 1
	}
	return p
}

// shapeOfVersion is indexed by the first four bits of a tweak. may is 1 where bits of the tweak
// mark later fragments.
var shapeOfVersion = [16]struct{ shape, may uint8 }{4: {shape4, 1}, 6: {shape6, 0}, 7: {shapeTruncated6, 0}}

// shapeOf returns the shape of a datagram whose message has a tweak. A CPU cannot predict the
// mix of versions, so there is no branch.
func shapeOf(tweak uint64) int {
	const offset = 0x1fff
	s := shapeOfVersion[tweak>>60]
	return int(s.shape + s.may&uint8((tweak&offset+offset)>>13))
}

// editFound edits datagrams that a kernel has found.
func (g *Identity) editFound(msgs []digest.Message, protocols []headers.Protocol) {
	buf, edits, plans := g.edit.buf, g.edit.edits, g.plans
	for i := range msgs {
		if g.slow[i/64]>>(i%64)&1 != 0 {
			continue
		}
		m, proto := &msgs[i], uint8(protocols[i])
		shape := shapeOf(m.Tweak)
		m.Tweak &= g.tweakMasks[shape]
		p := &plans[shape][proto]
		if p.other || m.Len < p.least {
			g.edit.edits = edits
			g.editUpper(foundDatagram(m, shape, proto))
			edits = g.edit.edits
			continue
		}
		for _, w := range p.words[:p.count] {
			off := m.Off + w.at
			edits = append(edits, edit{le64(buf[off:][:8]) & w.gone, off, clearWord})
		}
	}
	g.edit.edits = edits
}

// foundDatagram says where the parts of a datagram lie that is a message.
func foundDatagram(m *digest.Message, shape int, proto uint8) *datagram {
	d := &datagram{span: span{m.Off, m.Off + m.Len}, ip: m.Off - MessageStart, end: m.Off + m.Len, version: 6, proto: proto}
	switch shape {
	case shape4:
		d.version, d.upper = 4, d.ip+20
	case shapeFragment4:
		d.version = 4
	case shape6:
		d.upper = d.ip + 40
	case shapeTruncated6:
		d.ip = m.Off - truncatedStart
		d.upper = d.ip + 40
	}
	return d
}
