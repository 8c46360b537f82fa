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

// Deeper finds the datagrams in tunnels. A kernel of asm/headers opens plain tunnels. Deeper opens
// the other usual shapes, in rounds over all frames that have them, and leaves unusual
// shapes to a Decoder. It keeps its memory from call to call, so one goroutine at a time may use it.
type Deeper struct {
	tunnels *Tunnels
	others  []uint64 // a bit for each message whose tunnel the kernel leaves
	numbers []uint32 // of frames in their run whose tunnels are of other shapes
	// msgs has for each of numbers a message from 14 bytes before the IP header to the last byte
	// that the datagram may have.
	msgs      []digest.Message
	protocols []Protocol
	slow      []uint64
}

// Deeper returns a Deeper that opens the tunnels that d does.
func (d *Decoder) Deeper() Deeper { return Deeper{tunnels: d.tunnels} }

// The kernel opens plainDeep tunnels in each other, then Deeper a tunnel of another shape, and so on,
// otherShapes times: at most maxTunnels in all.
const (
	plainDeep   = 2
	otherShapes = 2
	_           = uint(maxTunnels - plainDeep - otherShapes*(1+plainDeep))
)

// Into opens tunnels in each other. msgs, protocols and rest are as FindDatagrams leaves them,
// before and after; msgs lie in buf. untyped is an Untyped rule of FindDatagrams. A message whose
// tunnel is of another shape, or beyond maxTunnels, gets its bit in rest, and protocol 0. Into returns
// what some datagrams in tunnels are. It takes constant time for each frame, tunnel, and extension header.
func (p *Deeper) Into(untyped *kernels.Datagrams, msgs []digest.Message, protocols []Protocol, rest []uint64, buf []byte) (found kernels.Found) {
	p.others = capture.Resize(p.others, len(rest))
	found = kernels.OpenTunnels(p.tunnels.plain, untyped, msgs, protocols, rest, p.others, buf, plainDeep)
	p.numbers = p.numbers[:0]
	for w, word := range p.others {
		for ; word != 0; word &= word - 1 {
			p.numbers = append(p.numbers, uint32(w*64+bits.TrailingZeros64(word)))
		}
	}
	for round := range otherShapes + 1 {
		if p.open(msgs, protocols, rest, buf, round < otherShapes); len(p.numbers) == 0 {
			break
		}
		found |= p.read(untyped, msgs, protocols, rest, buf)
	}
	return found
}

// read has kernels read the datagrams that are listed, and open plain tunnels in them. Datagrams that
// may still have a tunnel stay listed.
func (p *Deeper) read(untyped *kernels.Datagrams, msgs []digest.Message, protocols []Protocol, rest []uint64, buf []byte) (found kernels.Found) {
	n := len(p.numbers)
	words := (n + 63) / 64
	p.protocols, p.slow, p.others = capture.Resize(p.protocols, n), capture.Resize(p.slow, words), capture.Resize(p.others, words)
	found = kernels.FindDatagrams(untyped, p.msgs, p.protocols, p.slow, buf)
	inside := kernels.OpenTunnels(p.tunnels.plain, untyped, p.msgs, p.protocols, p.slow, p.others, buf, plainDeep)
	found |= inside
	n = 0
	for i, number := range p.numbers {
		msgs[number], protocols[number] = p.msgs[i], p.protocols[i]
		rest[number/64] |= p.slow[i/64] >> (i % 64) & 1 << (number % 64)
		p.numbers[n] = number
		n += int(p.others[i/64] >> (i % 64) & 1)
	}
	p.numbers = p.numbers[:n]
	return found
}

// beforeIP is how far before an IP header a message for an Untyped rule begins.
const beforeIP = 14

// typeOfNibble is the ethertype of IP by the first four bits of its header. Other values have an
// ethertype that is not in use.
var typeOfNibble = func() (types [16]uint16) {
	for nibble := range types {
		types[nibble] = 0xffff
	}
	types[4], types[6] = iana.TypeIPv4, iana.TypeIPv6
	return types
}()

// upperAt says by the first four bits of a tweak of FindDatagrams how far behind the start of the
// message the header above IP begins, without options and extension headers.
var upperAt = [16]uint32{4: 20 - 12, 6: 40 - 12, 7: 40 - 8}

// open opens a tunnel of each listed frame. Frames with IP in it stay listed, with the place of the
// IP header in msgs. Frames whose tunnel is of another shape get a bit in rest, and protocol 0.
// Without more all frames with a tunnel do.
func (p *Deeper) open(msgs []digest.Message, protocols []Protocol, rest []uint64, buf []byte, more bool) {
	n := 0
	p.msgs = p.msgs[:0]
	for _, i := range p.numbers {
		m, proto := &msgs[i], uint8(protocols[i])
		at := m.Off + upperAt[m.Tweak>>60]
		upper := buf[at : m.Off+m.Len]
		to := &noPort
		if proto == iana.ProtoUDP {
			to = p.tunnels.ofUDP(upper)
		}
		if isFragment(m.Tweak) || proto == iana.ProtoUDP && to.kind == 0 {
			continue
		}
		if ip, end, ok := to.inTunnel(proto, upper); ok && more {
			p.numbers[n] = i
			p.msgs = append(p.msgs, digest.Message{Off: at + uint32(ip) - beforeIP, Len: uint32(end-ip) + beforeIP})
			n++
			continue
		}
		rest[i/64] |= 1 << (i % 64)
		protocols[i] = 0
	}
	p.numbers = p.numbers[:n]
}

// isFragment reports whether a datagram that FindDatagrams has found is a fragment, which is not
// opened. Those of IPv6 are not found.
func isFragment(tweak uint64) bool {
	const moreOrOffset = 0x3fff
	return tweak>>60 == 4 && tweak&moreOrOffset != 0
}

// ofUDP is announced for UDP.
func (t *Tunnels) ofUDP(upper []byte) *tunnelPort {
	ports := binary.BigEndian.Uint32(upper)
	return t.ofPorts(uint16(ports>>16), uint16(ports))
}
