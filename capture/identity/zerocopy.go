// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/frames"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// If the fields that routers change do not count, as by default, the message is the rest of the
// datagram. The first 12 bytes, less the ignored fields, become the tweak:
//
//	IPv4   bytes 0, 9, 2 to 7
//	IPv6   bytes 0, 2, 3 (of byte 1 only the flow label), 6 after the first four
//	       bits, 8 to 11; the message has the payload length
//
// If an IPv6 datagram was truncated or its payload length is 0, the length of the message does
// not determine the payload length. Then the tweak is bytes 0 to 7, with 7 as the version, and
// the message begins at byte 8. No other identity has a tweak that begins like these.

// canShorten reports whether the tweak can hold the beginning of datagrams. All fields in
// routerFields must be left out, since the tweak has no room for them.
func canShorten(cfg Config) bool {
	return cfg.Kind != Frame && cfg.Bytes <= 0 && cfg.ignored()&routerFields == routerFields
}

// tweakLayout says which of the first 16 bytes of a datagram go into the tweak.
type tweakLayout struct {
	firstMask    uint64 // mask of bytes 0 to 7, as a big-endian word
	protocolMask uint64 // mask of the same before it is moved up
	secondMask   uint64 // mask of bytes 8 to 15 after they were moved down
	secondShift  uint32
	lengthMask   uint32 // mask of the difference between payload length and datagram
}

// protocolShift moves the protocol number of IPv6 to the place behind the version.
const protocolShift = 44

// tweakLayouts returns the layout for each version of IP, if the fields f are left out.
func (f Fields) tweakLayouts() (all [8]tweakLayout) {
	v4 := tweakLayout{firstMask: 0xff00ffff_ffffffff, secondMask: 0xff << 48}
	v6 := tweakLayout{firstMask: 0xf00fffff_00000000, protocolMask: 0xff00, secondMask: 0xffffffff, secondShift: 32, lengthMask: 0xffffffff}
	if f&IPID != 0 {
		v4.firstMask &^= 0xffff << 16
	}
	if f&DF != 0 {
		v4.firstMask &^= 0x4000
	}
	if f&FlowLabel != 0 {
		v6.firstMask &^= 0xfffff << 32
	}
	if f&NAT != 0 {
		v6.secondMask = 0
	}
	all[4], all[6] = v4, v6
	return all
}

// zeroCopyFrames lays out messages of kind Frame.
func zeroCopyFrames(msgs []digest.Message, all []capture.Frame) {
	frames.Messages(msgs, frames.Of(all), tweakFrame)
}

// MessageStart is the offset of a message in its datagram: the tweak holds the bytes before
// it, less the ignored fields.
const MessageStart = 12

// truncatedStart is the same for the messages of tweakLayout.truncated.
const truncatedStart = 8

// tweak returns the tweak of a datagram that starts with two words.
func (p *tweakLayout) tweak(first, second uint64) uint64 {
	return first&p.firstMask | first&p.protocolMask<<protocolShift | second>>(p.secondShift&63)&p.secondMask
}

// tweakMask returns the bits that a tweak may have.
func (p *tweakLayout) tweakMask() uint64 {
	return p.firstMask | p.protocolMask<<protocolShift | p.secondMask
}

// truncated returns the message of an IPv6 datagram of n bytes at off whose payload
// length does not follow from n.
func (p *tweakLayout) truncated(first uint64, off, n uint32) digest.Message {
	return digest.Message{Off: off + truncatedStart, Len: n - truncatedStart, Tweak: 1<<60 | first&(p.firstMask|0xffffff00)}
}

// zeroCopyDatagrams lays out the messages of datagrams and of frames without IP.
func zeroCopyDatagrams(msgs []digest.Message, buf []byte, frames []capture.Frame, h []headers.Header, layouts *[8]tweakLayout) {
	msgs, frames = msgs[:len(h)], frames[:len(h)]
	for i := range h {
		zeroCopyDatagram(&msgs[i], buf, frames[i].Data, &h[i], layouts)
	}
}

// zeroCopyDatagram lays out the message of the frame at data. A CPU cannot predict the
// mix of versions, so only rare cases have a branch.
func zeroCopyDatagram(m *digest.Message, buf []byte, data uint32, h *headers.Header, layouts *[8]tweakLayout) {
	off, n := data+h.Start, h.End-h.Start
	at := int(off)
	if h.Version == 0 || at+16 > len(buf) {
		m.Off, m.Len, m.Tweak = off, n, tweakFrame|uint64(h.Wire)
		return
	}
	ip, p := (*[16]byte)(buf[at:at+16]), &layouts[h.Version&7]
	word := binary.BigEndian.Uint64(ip[:8])
	if (n-40-uint32(uint16(word>>16)))&p.lengthMask != 0 {
		*m = p.truncated(word, off, n)
		return
	}
	m.Off, m.Len = off+MessageStart, n-MessageStart
	m.Tweak = p.tweak(word, binary.BigEndian.Uint64(ip[8:]))
}
