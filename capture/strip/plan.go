// SPDX-License-Identifier: Apache-2.0

package strip

import (
	"encoding/binary"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

const (
	// PPP protocols (IANA).
	pppIPv4 = 0x0021
	pppIPv6 = 0x0057
	pppMPLS = 0x0281

	// maxLength is the largest value of the type field of Ethernet that is a length
	// (IEEE 802.3, 3.2.6).
	maxLength = 1500
	// cooked8022 is the type of frames with a length in a cooked capture.
	cooked8022 = 4
)

// plan lists the changes to the bytes of a frame. Offsets are from the first captured byte
// of the frame as it came.
type plan struct {
	d      []byte // captured bytes
	layers []headers.Layer
	cuts   []span  // bytes to take out, in order, with bytes that stay between them
	words  []field // fields to be set
	counts []field // length fields that count the bytes behind them, and their new values
	end    uint32  // of the frame that is left, as far as it was captured
	ends   uint32  // where it ended on the wire
	sent   bool    // see Config.Sent
	link   capture.LinkType
	tunnel headers.Layer // that carried the frame
	// carried says that the frame comes out of a tunnel, unread that a tunnel cannot be
	// opened, and failed that the frame must not change.
	carried, unread, failed bool

	// The type field that announces the header at next, and the value that it has so far.
	slot, next uint32
	typ        uint16
	sizable    bool // it may be a length instead (IEEE 802.3, 3.2.6)
	// repeated is the type field of the last tag that a cooked header hides, or 0. The type field at
	// repeats, before all such tags, has the same value.
	repeats, repeated uint32
}

type span struct{ from, to uint32 }

// field is a 16-bit field and its value.
type field struct {
	at    uint32
	value uint16
}

// reset begins the plan of a frame.
func (p *plan) reset(d []byte, link capture.LinkType, wire uint32) {
	p.d, p.end, p.ends, p.link = d, uint32(len(d)), wire, link
	p.cuts, p.words, p.counts = p.cuts[:0], p.words[:0], p.counts[:0]
	p.carried, p.unread, p.failed = false, false, false
	p.slot, p.next, p.typ, p.sizable, p.repeated = 0, 0, 0, false, 0
}

// set has a field set.
func (p *plan) set(at uint32, value uint16) {
	if at == p.repeated && at != 0 {
		p.words = append(p.words, field{p.repeats, value})
	}
	if n := len(p.words); n > 0 && p.words[n-1].at == at {
		p.words[n-1].value = value
		return
	}
	p.words = append(p.words, field{at, value})
}

// cut has bytes taken out that lie behind all that were before.
func (p *plan) cut(from, to uint32) {
	n := to - from
	for i := range p.counts {
		c := &p.counts[i]
		c.value -= uint16(min(n, uint32(c.value)))
	}
	if last := len(p.cuts) - 1; last >= 0 && p.cuts[last].to == from {
		p.cuts[last].to = to
		return
	}
	p.cuts = append(p.cuts, span{from, to})
}

// begin has the frame begin at an Ethernet header, or at an IP header.
func (p *plan) begin(at uint32) {
	p.cuts, p.words, p.counts = p.cuts[:0], p.words[:0], p.counts[:0]
	p.cut(0, at)
}

// make plans from the layers of the frame.
func (p *plan) make(taken Headers) {
	rest := p.layers
	if taken&Tunnel != 0 {
		rest = p.open()
	}
	if n := len(rest) - 1; n >= 0 && rest[n].Kind == headers.LayerUnread && p.isUnread(taken, rest[n]) {
		return
	}
	p.firstType(rest)
	for len(rest) > 0 && !p.failed {
		l := rest[0]
		switch l.Kind {
		case headers.LayerEthernet:
			p.follow(l.Start+12, l.Start+14)
			rest = rest[1:]
		case headers.LayerVLAN:
			p.tag(l, taken&VLAN != 0, iana.IsVLAN)
			rest = rest[1:]
		case headers.LayerArista:
			p.tag(l, taken&Arista != 0, func(t uint16) bool { return t == iana.TypeArista })
			rest = rest[1:]
		case headers.LayerMPLS:
			n := labels(rest)
			if taken&MPLS != 0 {
				p.mpls(rest[:n], rest[n:])
			}
			rest = rest[n:]
		case headers.LayerPPPoE:
			p.pppoe(l, rest[1:], taken&PPPoE != 0)
			rest = rest[1:]
		default:
			rest = nil
		}
	}
	for _, c := range p.counts {
		p.set(c.at, c.value)
	}
}

// open makes the frame begin with the payload of the innermost tunnel, if it is in a tunnel. It
// returns the remaining layers.
func (p *plan) open() []headers.Layer {
	last := len(p.layers) - 1
	for last >= 0 && !p.layers[last].Kind.Tunnel() {
		last--
	}
	if last < 0 {
		return p.layers
	}
	inside := p.layers[last+1:]
	at := slices.IndexFunc(inside, func(l headers.Layer) bool { return l.Kind == headers.LayerEthernet })
	link := capture.LinkEthernet
	if at < 0 {
		link = capture.LinkRaw
		at = slices.IndexFunc(inside, func(l headers.Layer) bool { return l.Kind == headers.LayerIP })
	}
	p.tunnel, p.carried, p.link = p.layers[last], true, link
	p.begin(inside[at].Start)
	p.end, p.ends = inside[at].End, inside[at].Start+inside[at].Wire
	if !p.sent {
		p.restore(inside[at:])
	}
	return inside[at:]
}

// restore sets where a frame ended that a mirror has cut before it put the tunnel around it: the IP
// header states more than the tunnel carries. Readers then see a truncated packet, not a damaged one.
func (p *plan) restore(inside []headers.Layer) {
	for _, l := range inside {
		var h headers.Header
		if l.Kind != headers.LayerIP || !h.ReadIP(p.d[l.Start:l.End]) {
			continue
		}
		if end := h.WireEnd(p.d[l.Start:l.End]); end != headers.UnknownEnd {
			p.ends = max(p.ends, l.Start+uint32(end))
		}
	}
}

// isUnread notes a header that was not followed, and reports whether the frame must not change
// because of it. Behind a tunnel it may: all fragments of a packet lose the tags that they have.
func (p *plan) isUnread(taken Headers, l headers.Layer) bool {
	kind := headers.LayerKind(l.ID)
	switch {
	case kind.Tunnel():
		p.unread = taken&Tunnel != 0
	case kind == headers.LayerVLAN:
		p.failed = taken&VLAN != 0
	case kind == headers.LayerMPLS:
		p.failed = taken&MPLS != 0
	case kind == headers.LayerPPPoE:
		p.failed = taken&PPPoE != 0
	case kind == headers.LayerArista:
		p.failed = taken&Arista != 0
	}
	return p.failed
}

// Where cooked captures have the type field of the header behind.
const (
	sllType, sllEnd   = 14, 16
	sll2Type, sll2End = 0, 20
)

// firstType finds the type field of a cooked header.
func (p *plan) firstType(rest []headers.Layer) {
	switch {
	case len(rest) == 0:
	case p.link == capture.LinkLinuxSLL && rest[0].Start >= sllEnd:
		p.follow(sllType, sllEnd)
	case p.link == capture.LinkLinuxSLL2 && rest[0].Start >= sll2End:
		p.follow(sll2Type, sll2End)
	}
}

// follow records that the type field at slot announces the header at next.
func (p *plan) follow(slot, next uint32) {
	p.slot, p.next, p.typ, p.sizable = slot, next, be16(p.d[slot:]), true
	if p.typ <= maxLength && !p.cooked() {
		p.counts = append(p.counts, field{slot, p.typ})
	}
}

// cooked reports whether the type field in use belongs to a cooked header.
func (p *plan) cooked() bool {
	return p.link == capture.LinkLinuxSLL && p.slot == sllType || p.link == capture.LinkLinuxSLL2 && p.slot == sll2Type
}

// reach finds the type field that announces a header at offset at. Behind a header that is
// not known here, it is the two bytes before.
func (p *plan) reach(at uint32) bool {
	if p.next == at {
		return true
	}
	if at < p.next+2 {
		return false
	}
	p.slot, p.next, p.typ, p.sizable = at-2, at, be16(p.d[at-2:]), false
	return true
}

// announce takes off all up to end, and has the type field announce what follows.
func (p *plan) announce(typ uint16, from, end uint32) {
	p.set(p.slot, typ)
	p.cut(from, end)
	p.typ, p.next = typ, end
}

// tag removes a header that ends with a type field: a VLAN tag, or the header of a switch.
// announced says which types announce it.
func (p *plan) tag(l headers.Layer, off bool, announced func(uint16) bool) {
	slot, hidden := p.slot, p.isHidden(l)
	if !off {
		p.follow(l.End-2, l.End)
		switch {
		case hidden:
			p.repeats, p.repeated = slot, p.slot
		case l.Kind == headers.LayerVLAN && slot == p.repeated:
			p.repeated = p.slot
		}
		return
	}
	if !p.reach(l.Start) || !announced(p.typ) && !hidden {
		p.failed = true
		return
	}
	typ := be16(p.d[l.End-2:])
	sized := typ <= maxLength
	switch {
	case sized && p.cooked():
		typ, sized = cooked8022, false
	case sized && !p.sizable:
		p.failed = true
		return
	}
	p.announce(typ, l.Start, l.End)
	if sized {
		p.counts = append(p.counts, field{p.slot, typ})
	}
}

// isHidden reports whether l is the first tag that a cooked header hides: no type announces it.
func (p *plan) isHidden(l headers.Layer) bool {
	cooked := p.link == capture.LinkLinuxSLL || p.link == capture.LinkLinuxSLL2
	return cooked && l.Kind == headers.LayerVLAN && p.next == l.Start && !iana.IsVLAN(p.typ)
}

// labels returns how many MPLS entries a list begins with.
func labels(list []headers.Layer) int {
	n := 0
	for n < len(list) && list[n].Kind == headers.LayerMPLS {
		n++
	}
	return n
}

// mpls takes off a label stack. Of a pseudowire (RFC 4448) the Ethernet frame is left that
// it carries.
func (p *plan) mpls(stack, behind []headers.Layer) {
	from, end := stack[0].Start, stack[len(stack)-1].End
	if len(behind) == 0 || !p.reach(from) {
		p.failed = true
		return
	}
	next, inPPP := behind[0], p.typ == pppMPLS
	switch {
	case p.typ != iana.TypeMPLS && p.typ != iana.TypeMPLSUp && !inPPP:
		p.failed = true
	case next.Kind == headers.LayerIP && next.Start == end && inPPP:
		p.announce(p.version(next, pppIPv4, pppIPv6), from, end)
	case next.Kind == headers.LayerIP && next.Start == end:
		p.announce(p.version(next, iana.TypeIPv4, iana.TypeIPv6), from, end)
	case next.Kind == headers.LayerEthernet && p.link == capture.LinkEthernet:
		p.begin(next.Start)
	default:
		p.failed = true
	}
}

// version returns four for IPv4 and six for IPv6.
func (p *plan) version(ip headers.Layer, four, six uint16) uint16 {
	if p.d[ip.Start]>>4 == 6 {
		return six
	}
	return four
}

// pppoe takes off the header of a session, and the PPP protocol behind it. Other protocols than
// IP and MPLS belong to the session itself, and stay.
func (p *plan) pppoe(l headers.Layer, behind []headers.Layer, off bool) {
	const length = 4 // where the header has the length of its payload
	switch {
	case !off:
		p.counts = append(p.counts, field{l.Start + length, binary.BigEndian.Uint16(p.d[l.Start+length:])})
	case len(behind) == 0 || !p.reach(l.Start) || p.typ != iana.TypePPPoE:
		p.failed = true
	case behind[0].Kind == headers.LayerIP:
		p.announce(p.version(behind[0], iana.TypeIPv4, iana.TypeIPv6), l.Start, behind[0].Start)
	case behind[0].Kind == headers.LayerMPLS:
		p.announce(iana.TypeMPLS, l.Start, behind[0].Start)
	default:
		p.failed = true
	}
}
