// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	kernels "github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Deeper finds the datagrams in tunnels, in rounds over all frames that have them: it steps over
// what lies before the next IP header, and a kernel of asm/headers reads that. It knows the usual
// shapes of tunnels, and leaves all others to a Decoder. It keeps its memory from call to call, so
// one goroutine at a time may use it.
type Deeper struct {
	numbers []uint32 // of frames in their run
	// msgs has for each of them a message from 14 bytes before the IP header to the last byte
	// that the datagram may have.
	msgs      []digest.Message
	others    []uint32 // frames whose tunnel plainTunnels leaves
	protocols []Protocol
	slow      []uint64
}

// Into opens up to maxTunnels tunnels in each other. msgs, protocols and rest are as FindDatagrams
// leaves them, and are so afterwards; msgs lie in buf. untyped is its rule that is Untyped. A
// message whose tunnel is of another shape has its bit in rest set, and protocol 0. Into reports
// whether datagrams in tunnels were captured in part. It takes constant time for each frame, and
// for each tunnel and each extension header of a tunnel in it.
func (p *Deeper) Into(untyped *kernels.Datagrams, msgs []digest.Message, protocols []Protocol, rest []uint64, buf []byte) (cut bool) {
	p.mayTunnel(protocols)
	for range maxTunnels {
		if p.open(msgs, protocols, rest, buf); len(p.numbers) == 0 {
			break
		}
		cut = p.read(untyped, msgs, protocols, rest, buf) || cut
	}
	return cut
}

// read has a kernel read the datagrams that are listed. It keeps those listed that mayTunnel would
// list.
func (p *Deeper) read(untyped *kernels.Datagrams, msgs []digest.Message, protocols []Protocol, rest []uint64, buf []byte) (cut bool) {
	n := len(p.numbers)
	p.protocols, p.slow = capture.Resize(p.protocols, n), capture.Resize(p.slow, (n+63)/64)
	cut = kernels.FindDatagrams(untyped, p.msgs, p.protocols, p.slow, buf)
	for w, word := range p.slow {
		for ; word != 0; word &= word - 1 {
			number := p.numbers[w*64+bits.TrailingZeros64(word)]
			rest[number/64] |= 1 << (number % 64)
		}
	}
	n = 0
	for i, number := range p.numbers {
		msgs[number], protocols[number] = p.msgs[i], p.protocols[i]
		p.numbers[n] = number
		n += int(tunnels[uint8(p.protocols[i])])
	}
	p.numbers = p.numbers[:n]
	return cut
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
	p.numbers = append(p.numbers, number)
	p.msgs = append(p.msgs, digest.Message{Off: ip - beforeIP, Len: end - ip + beforeIP})
}

// mayTunnel lists the datagrams whose protocol can carry other packets. protocols has the
// protocol of each frame, 0 if it is not known.
func (p *Deeper) mayTunnel(protocols []Protocol) {
	numbers, n := capture.Resize(p.numbers, len(protocols)), 0
	for i, protocol := range protocols {
		numbers[n] = uint32(i)
		n += int(tunnels[uint8(protocol)])
	}
	p.numbers = numbers[:n]
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

// open opens the tunnels of the frames that are listed, and lists where the IP header in each
// lies. Frames without a tunnel are no longer listed, nor are frames whose tunnel is of another
// shape: their bits in rest are set, and their protocols are 0.
func (p *Deeper) open(msgs []digest.Message, protocols []Protocol, rest []uint64, buf []byte) {
	p.numbers, p.others, p.msgs = plainTunnels.Open(p.numbers, p.others, p.msgs, msgs, buf)
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
