// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Deeper lists frames whose IP header lies behind label stacks, PPPoE or tunnels, and where
// it lies. Kernels of asm/headers then read it with a rule that is Untyped. Deeper knows the
// usual shapes of these headers, and leaves all others to a Decoder. It keeps its memory from
// call to call, so one goroutine at a time may use it. All methods take constant time for each
// frame, and for each label and extension header in it.
type Deeper struct {
	Numbers []uint32 // of frames in their run
	// Msgs has for each of them a message from 14 bytes before the IP header to the last byte
	// that the datagram may have.
	Msgs   []digest.Message
	others []uint32 // frames whose tunnel plainTunnels leaves
}

// beforeIP is how far before an IP header a message for an Untyped rule begins.
const beforeIP = 14

// typeOfNibble is the ethertype of IP by the first four bits of its header. Others have one that
// no frame has in use.
var typeOfNibble = func() (types [16]uint16) {
	for nibble := range types {
		types[nibble] = 0xffff
	}
	types[4], types[6] = iana.TypeIPv4, iana.TypeIPv6
	return types
}()

// begin makes room for n frames, and lists none.
func (p *Deeper) begin(n int) {
	p.Numbers, p.Msgs = capture.Resize(p.Numbers, n)[:0], capture.Resize(p.Msgs, n)[:0]
}

func (p *Deeper) add(number, ip, end uint32) {
	p.Numbers = append(p.Numbers, number)
	p.Msgs = append(p.Msgs, digest.Message{Off: ip - beforeIP, Len: end - ip + beforeIP})
}

// BehindLabels lists the frames that have labels or PPPoE behind an Ethernet header. It looks at
// those whose bit in rest is set, and clears the bits of those that it lists. msgs are the frames,
// whole, with their length on the wire in the lower half of the tweak, and lie in buf.
func (p *Deeper) BehindLabels(msgs []digest.Message, rest []uint64, buf []byte) {
	p.begin(len(msgs))
	for w, word := range rest {
		for left := word; left != 0; left &= left - 1 {
			i := w*64 + bits.TrailingZeros64(left)
			m := &msgs[i]
			if o := behindLabels(buf[m.Off:][:m.Len], uint32(m.Tweak)); o > 0 {
				word &^= left & -left
				p.add(uint32(i), m.Off+uint32(o), m.Off+m.Len)
			}
		}
		rest[w] = word
	}
}

// behindLabels returns the offset of the IP header behind the labels or the PPPoE header of the
// Ethernet frame d, or 0.
func behindLabels(d []byte, wire uint32) int {
	const entry = 4
	typ, o := behindEthernet(d, 0)
	switch typ {
	case iana.TypeMPLS, iana.TypeMPLSUp:
		for bottom := byte(0); bottom == 0; o += entry {
			if len(d) < o+entry {
				return 0
			}
			bottom = d[o+2] & 1
		}
		if surelyIP(d[o:], int64(max(wire, uint32(len(d))))-int64(o)) {
			return o
		}
	case iana.TypePPPoE:
		typ, o := insidePPPoE(d, o)
		if o < len(d) && typeOfNibble[d[o]>>4] == typ {
			return o
		}
	}
	return 0
}

// surelyIP reports whether underLabels takes what lies below labels for IP, without a look at
// what else it might be: the checksum of IPv4 is right, or IPv6 looks as usual, and no type of IP
// or of a tag stands where an Ethernet frame has its type. It has left bytes on the wire. Headers
// with options are left to underLabels.
func surelyIP(ip []byte, left int64) bool {
	const least = 24
	if len(ip) < least || beginsType[ip[12]] && isType(binary.BigEndian.Uint16(ip[12:])) {
		return false
	}
	if ip[0] == 0x45 {
		return headerSum20((*[20]byte)(ip)) && int64(binary.BigEndian.Uint16(ip[2:])) <= left
	}
	return ip[0]>>4 == 6 && isIPv6(ip, left)
}

// isType reports whether a frame with the ethertype t may lead to IP as leadsToIP asks.
func isType(t uint16) bool { return t == iana.TypeIPv4 || t == iana.TypeIPv6 || iana.IsVLAN(t) }

// beginsType has the first bytes of these types.
var beginsType = [256]bool{
	iana.TypeIPv4 >> 8: true, iana.TypeIPv6 >> 8: true, iana.TypeVLAN >> 8: true, iana.TypeQinQ >> 8: true,
	iana.TypeQinQOld >> 8: true, iana.TypeQinQOld2 >> 8: true,
}

// headerSum20 reports whether the checksum of a header of 20 bytes is right. The order of bytes
// does not matter for that (RFC 1071, section 2).
func headerSum20(ip *[20]byte) bool {
	sum, carry := bits.Add64(binary.LittleEndian.Uint64(ip[:8]), binary.LittleEndian.Uint64(ip[8:16]), 0)
	sum = sum>>32 + sum&0xffffffff + carry + uint64(binary.LittleEndian.Uint32(ip[16:]))
	sum = sum>>16&0xffff + sum>>32 + sum&0xffff
	return uint16(sum>>16+sum) == 0xffff
}

// MayTunnel lists the datagrams whose protocol can carry other packets. protocols has the
// protocol of each frame, 0 if it is not known.
func (p *Deeper) MayTunnel(protocols []Protocol) {
	numbers, n := capture.Resize(p.Numbers, len(protocols)), 0
	for i, protocol := range protocols {
		numbers[n] = uint32(i)
		n += int(tunnels[uint8(protocol)])
	}
	p.Numbers = numbers[:n]
}

// StillMayTunnel keeps of the listed frames those that MayTunnel would list.
func (p *Deeper) StillMayTunnel(protocols []Protocol) {
	n := 0
	for _, i := range p.Numbers {
		p.Numbers[n] = i
		n += int(tunnels[uint8(protocols[i])])
	}
	p.Numbers = p.Numbers[:n]
}

// tunnels is 1 for each protocol in mayTunnel.
var tunnels = func() (is [256]uint8) {
	for number, may := range mayTunnel {
		if may {
			is[number] = 1
		}
	}
	return is
}()

// upperAt says by the first four bits of a tweak of FindDatagrams how far behind the start of the
// message the header above IP begins, without options and extension headers.
var upperAt = [16]uint32{4: 20 - 12, 6: 40 - 12, 7: 40 - 8}

// Open opens the tunnels of the frames that are listed, and lists where the IP header in each
// lies. msgs and protocols are as FindDatagrams leaves them; msgs lie in buf. Frames without a
// tunnel are no longer listed. Nor are those whose tunnel is of another shape: their bits in rest
// are set, and their protocols are 0.
func (p *Deeper) Open(msgs []digest.Message, protocols []Protocol, rest []uint64, buf []byte) {
	p.Numbers, p.others, p.Msgs = plainTunnels.Open(p.Numbers, p.others, p.Msgs, msgs, buf)
	for _, i := range p.others {
		m, proto := &msgs[i], uint8(protocols[i])
		at := m.Off + upperAt[m.Tweak>>60]
		upper := buf[at : m.Off+m.Len]
		if isFragment(m.Tweak) || proto == iana.ProtoUDP && kindOfUDP(upper) == 0 {
			continue
		}
		if ip, end, ok := inTunnel(proto, upper); ok {
			p.add(i, at+uint32(ip), at+uint32(end))
			continue
		}
		rest[i/64] |= 1 << (i % 64)
		protocols[i] = 0
	}
}

// isFragment reports whether a datagram that FindDatagrams has found is a fragment, which is not
// opened. Those of IPv6 are not found.
func isFragment(tweak uint64) bool {
	const moreOrOffset = 0x3fff
	return tweak>>60 == 4 && tweak&moreOrOffset != 0
}

// kindOfUDP is Header.Announces for UDP.
func kindOfUDP(upper []byte) LayerKind {
	ports := binary.BigEndian.Uint32(upper)
	return tunnelOfPorts(uint16(ports>>16), uint16(ports))
}
