// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bytes"
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
)

// undecidable finds packets that must stay, since their compared bytes may begin many packets
// of their flow. identities.md has the rule. This is its second implementation, plain and slow,
// and independent of package identity.
type undecidable struct {
	kind   identity.Kind
	ignore identity.Fields
	limit  uint64 // bytes of an identity that are compared
	inner  *headers.Decoder
	// tunnels are the UDP ports of tunnels.
	tunnels *headers.Tunnels
	one     capture.Batch // a frame as far as it is compared
	header  [1]headers.Header
}

func newUndecidable(cfg *identity.Config) *undecidable {
	u := &undecidable{
		kind: cfg.Kind, ignore: cfg.Ignore.Apply(cfg.Kind), limit: 1 << 40,
		inner: headers.NewDecoder(headers.DecoderConfig{Inner: true, Tunnels: cfg.Tunnels}), tunnels: cfg.Tunnels,
	}
	if cfg.Bytes > 0 {
		u.limit = uint64(cfg.Bytes)
	}
	return u
}

// is reports whether packet i of b, which h describes, must stay.
func (u *undecidable) is(b *capture.Batch, i int, h *headers.Header) bool {
	f := &b.Frames[i]
	if h.Version == 0 {
		return u.isFrame(b, i, h)
	}
	end := uint64(h.Start) + u.limit
	if u.kind == identity.Frame {
		end = u.limit
		if u.ignore&identity.VLAN != 0 {
			end += 4 * uint64(h.Tags)
		}
	}
	ip := b.Data(i)[h.Start:]
	whole := uint64(h.Start) + datagramLen(ip)
	if datagramLen(ip) == 0 {
		whole = uint64(h.End)
		if h.End == f.CapLen {
			whole = uint64(max(f.WireLen, f.CapLen))
		}
	}
	cut := whole > min(uint64(h.End), end)
	if u.kind == identity.Frame {
		cut = cut || f.CapLen < f.WireLen || uint64(f.CapLen) > end
	}
	if !cut {
		return false
	}
	compared := *f
	compared.CapLen = uint32(min(uint64(f.CapLen), uint64(h.End), end))
	if compared.CapLen <= h.Start {
		return true
	}
	p := part{data: b.Buf[f.Data+h.Start : f.Data+compared.CapLen], whole: whole - uint64(h.Start), ignore: u.ignore, tunnels: u.tunnels}
	p.room = uint64(max(f.CapLen, f.WireLen)) - uint64(h.Start)
	return !p.isKnown() && !u.isKnownInside(b, compared, whole)
}

// isKnownInside reports whether a packet in a tunnel, that identities do not open, is known.
// The outer packet ends at end.
func (u *undecidable) isKnownInside(b *capture.Batch, f capture.Frame, end uint64) bool {
	if u.kind == identity.Inner {
		return false
	}
	u.one = capture.Batch{Buf: b.Buf, Frames: append(u.one.Frames[:0], f), Interfaces: b.Interfaces, Sections: b.Sections}
	u.inner.Decode(u.header[:], &u.one, 0)
	h := &u.header[0]
	if h.Version == 0 || h.Flags&headers.FlagInner == 0 {
		return false
	}
	p := part{data: u.one.Data(0)[h.Start:h.End], tunnels: u.tunnels}
	p.whole, p.room = max(datagramLen(p.data), uint64(len(p.data))), max(end, uint64(h.Start))-uint64(h.Start)
	return p.isKnown()
}

const typeLLDP = 0x88cc

// finalTypes are ethertypes of frames that do not state how long they are.
var finalTypes = map[uint16]bool{0x8809: true, 0x888e: true, 0x8892: true, 0x8902: true, 0x9000: true}

// isFrame is for frames without IP. It knows plain Ethernet frames of few types. Of all others the
// code that it checks says so: see Verifier.doubted.
func (u *undecidable) isFrame(b *capture.Batch, i int, h *headers.Header) bool {
	f, d := &b.Frames[i], b.Data(i)
	if h.Flags&headers.FlagInner != 0 || b.Interfaces[f.Interface].LinkType != capture.LinkEthernet || len(d) < 14 {
		return false
	}
	typ := binary.BigEndian.Uint16(d[12:])
	open := finalTypes[typ] || typ == typeLLDP && (u.kind == identity.Frame || !endsLLDP(d[14:]))
	return open && f.CapLen+uint32(b.FCSLen(i)) < f.WireLen
}

// endsLLDP reports whether elements of LLDP (IEEE 802.1AB, 8.1) come to the end: the rest is
// padding.
func endsLLDP(elements []byte) bool {
	for len(elements) >= 2 {
		element := binary.BigEndian.Uint16(elements)
		if element == 0 {
			return true
		}
		elements = elements[min(2+int(element&0x1ff), len(elements)):]
	}
	return false
}

// datagramLen returns the length that an IP header states, 0 for none.
func datagramLen(ip []byte) uint64 {
	if ip[0]>>4 == 4 {
		return uint64(binary.BigEndian.Uint16(ip[2:]))
	}
	if n := uint64(binary.BigEndian.Uint16(ip[4:])); n > 0 {
		return n + 40
	}
	return 0
}

// part is the beginning of an IP datagram.
type part struct {
	data   []byte
	whole  uint64 // its length
	room   uint64 // bytes from its start to the end of what it lies in; 0 in a quote
	ignore identity.Fields
	// tunnels are the UDP ports of tunnels.
	tunnels *headers.Tunnels
	upper   []byte // behind the IP header
	proto   byte
}

// has returns n bytes of d from at on, or nil if d ends before.
func has(d []byte, at, n int) []byte {
	if at < 0 || len(d) < at+n {
		return nil
	}
	return d[at : at+n]
}

// anyOf reports whether bytes are there, and not all of them 0.
func anyOf(d []byte) bool { return len(bytes.TrimLeft(d, "\x00")) > 0 }

// isKnown reports whether no other packet of the flow begins in the same way, except by
// chance.
func (p *part) isKnown() bool {
	if len(p.data) < 20 {
		return false
	}
	if p.data[0]>>4 == 4 {
		return p.isKnown4()
	}
	return len(p.data) >= 40 && p.isKnown6()
}

func (p *part) isKnown4() bool {
	ip := p.data
	size := int(ip[0]&0xf) * 4
	if size < 20 || len(ip) < size {
		return false
	}
	p.proto, p.upper = ip[9], ip[size:]
	enough := len(p.upper) >= 12 || p.proto != 6 && len(p.upper) >= 8
	fragment := binary.BigEndian.Uint16(ip[6:]) & 0x3fff
	sound := !anyOf(ip[10:12]) || ones(ip[:size]) == 0xffff || p.isFull(fragment != 0)
	if p.ignore&identity.IPID == 0 && anyOf(ip[4:6]) && enough && sound {
		return true
	}
	return fragment == 0 && p.isKnownAbove(ip[12:20])
}

// isFull reports whether lengths agree: of IP with the frame, which may have 10 bytes of trailers, and
// 46 of padding with them, and of UDP with IP.
func (p *part) isFull(fragment bool) bool {
	if p.whole > p.room || p.room > p.whole+10 && p.room > 56 {
		return false
	}
	length := has(p.upper, 4, 2)
	above := p.whole - uint64(len(p.data)-len(p.upper))
	return fragment || p.proto != 17 || length != nil && uint64(binary.BigEndian.Uint16(length)) == above
}

func (p *part) isKnown6() bool {
	p.proto, p.upper = p.data[6], p.data[40:]
	for len(p.upper) >= 8 {
		size := 8 + 8*int(p.upper[1])
		switch p.proto {
		case 44: // fragment
			if anyOf(p.upper[4:8]) || binary.BigEndian.Uint16(p.upper[2:])&0xfff9 != 0 {
				return anyOf(p.upper[4:8])
			}
			size = 8
		case 51: // authentication
			if anyOf(has(p.upper, 8, 4)) {
				return true
			}
			size = 8 + 4*int(p.upper[1])
		case 0, 43, 60, 135, 139, 140:
		default:
			return p.isKnownAbove(p.data[8:40])
		}
		if size > len(p.upper) {
			return false
		}
		p.proto, p.upper = p.upper[0], p.upper[size:]
	}
	return p.isKnownAbove(p.data[8:40])
}

// isKnownAbove looks at the header above IP, between two addresses.
func (p *part) isKnownAbove(addresses []byte) bool {
	above := p.whole - uint64(len(p.data)-len(p.upper)) // of the datagram
	summed := p.ignore&(identity.L4Checksum|identity.NAT) == 0
	switch p.proto {
	case 6: // TCP
		if p.ignore&identity.TCPSeq != 0 {
			return false
		}
		header := uint64(60)
		if d := has(p.upper, 12, 1); d != nil {
			header = max(4*uint64(d[0]>>4), 20)
		}
		opens := has(p.upper, 13, 1) != nil && p.upper[13]&2 != 0 // with SYN, as a segment with MSS
		if p.ignore&identity.TCPHeader != 0 || p.ignore&identity.MSS != 0 && opens {
			summed = false
		}
		return len(p.upper) >= 12 && above > header || summed && p.isSummed(has(p.upper, 16, 2), addresses, above)
	case 17: // UDP
		d := has(p.upper, 2, 2)
		tunnel := d != nil && p.tunnels.IsPort(binary.BigEndian.Uint16(d))
		length := has(p.upper, 4, 2)
		covers := length != nil && uint64(binary.BigEndian.Uint16(length)) == above
		return summed && !tunnel && covers && p.isSummed(has(p.upper, 6, 2), addresses, above)
	case 1, 58: // ICMP
		return p.isError() && p.isQuoteKnown() || summed && p.isMessageSummed(addresses, above)
	case 50: // ESP
		return anyOf(has(p.upper, 4, 4))
	case 51: // authentication
		return anyOf(has(p.upper, 8, 4))
	case 132: // SCTP
		return summed && anyOf(has(p.upper, 8, 4))
	case 47: // GRE
		return p.isSequenced()
	}
	return false
}

// isSequenced reports whether a GRE header has its sequence number.
func (p *part) isSequenced() bool {
	at := 4
	if len(p.upper) < at || p.upper[0]&0x10 == 0 {
		return false
	}
	if p.upper[0]&0x80 != 0 {
		at += 4
	}
	if p.upper[0]&0x20 != 0 {
		at += 4
	}
	return has(p.upper, at, 4) != nil
}

// isError reports whether an ICMP message quotes the packet that it is about.
func (p *part) isError() bool {
	if len(p.upper) == 0 {
		return false
	}
	kind := p.upper[0]
	if p.proto == 58 {
		return kind < 128
	}
	return kind == 3 || kind == 4 || kind == 5 || kind == 11 || kind == 12
}

func (p *part) isQuoteKnown() bool {
	if len(p.upper) < 8+20 {
		return false
	}
	quote := part{data: p.upper[8:], tunnels: p.tunnels}
	if v := quote.data[0] >> 4; v != 4 && v != 6 {
		return false
	}
	quote.whole = max(datagramLen(quote.data), uint64(len(quote.data)))
	quote.data = quote.data[:min(quote.whole, uint64(len(quote.data)))]
	return quote.isKnown()
}

func (p *part) isMessageSummed(addresses []byte, above uint64) bool {
	field := has(p.upper, 2, 2)
	if p.proto == 1 {
		return anyOf(field)
	}
	return p.isSummed(field, addresses, above)
}

// isSummed reports whether a checksum is there, which the sender has computed: else it is 0, or
// the checksum of the pseudo header, with or without the length.
func (p *part) isSummed(field, addresses []byte, above uint64) bool {
	if !anyOf(field) {
		return false
	}
	for _, length := range []uint64{0, above} {
		pseudo := append([]byte{0, p.proto}, addresses...)
		pseudo = binary.BigEndian.AppendUint64(pseudo, length)
		if ones(pseudo) == binary.BigEndian.Uint16(field) {
			return false
		}
	}
	return true
}

// ones returns the ones' complement sum of words of 16 bits (RFC 1071).
func ones(d []byte) uint16 {
	sum := uint64(0)
	for ; len(d) >= 4; d = d[4:] {
		sum += uint64(binary.BigEndian.Uint32(d))
	}
	if len(d) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(d))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}
