// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Deeper lists frames whose IP header lies in tunnels, and where it lies. Kernels of asm/headers
// then read it with a rule that is Untyped. Deeper knows the usual shapes of tunnels, and leaves all
// others to a Decoder. It keeps its memory from call to call, so one goroutine at a time may use
// it. All methods take constant time for each frame, and for each extension header of its tunnel.
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

func (p *Deeper) add(number, ip, end uint32) {
	p.Numbers = append(p.Numbers, number)
	p.Msgs = append(p.Msgs, digest.Message{Off: ip - beforeIP, Len: end - ip + beforeIP})
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
