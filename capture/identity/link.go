// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// linkAddresses is the size of the addresses that Ethernet frames begin with. If addresses do not
// count, their messages begin behind.
const linkAddresses = 12

// tweakBare is the top byte of the tweak of frames without addresses. The length of the frame on
// the wire follows.
const tweakBare = 5 << 56

// linkParts says which parts of a message do not count since they are of a link header.
type linkParts struct {
	addresses [2]uint32 // offsets in the message, less cut
	count     int       // of addresses
	// Tags that a copy lacks: their size, or 0, and offsets in the message of the first tag, and of
	// the type that announces it.
	cut, tag, typ uint32
}

// tagBytes returns how many bytes of VLAN tags the identity leaves out.
func (g *Identity) tagBytes(h *headers.Header) uint32 {
	if g.ignore&VLAN == 0 {
		return 0
	}
	return 4 * uint32(h.Tags)
}

// frame leaves out what does not count of message i, which is all of frame from+i of b.
func (g *Identity) frame(b *capture.Batch, from, i int, h *headers.Header) {
	m, data := &g.out.msgs[i], b.Frames[from+i].Data
	l := linkParts{}
	if g.ignore&(MAC|VLAN) != 0 {
		g.readLink(&l, m, b, from+i, h)
	}
	m.Len = min(m.Len, g.limit)
	var d *datagram
	if h.Version != 0 {
		in := datagramOf(h, data)
		d = &in
	}
	switch {
	case l.cut == 0 && l.count == 0:
		if d != nil {
			g.leaveOut(i, d)
		}
		return
	case l.cut == 0:
		if mask, ok := g.maskOf(m, &l, d); ok {
			g.out.which[i] = mask
			return
		}
	}
	g.copyMessage(i, &l, d)
}

// readLink has the message begin where the link header begins to count, and says what else of it
// does not. If a file claims a length shorter than the tags, the length in the tweak wraps
// around. That is harmless: it must only be equal for equal frames.
func (g *Identity) readLink(l *linkParts, m *digest.Message, b *capture.Batch, number int, h *headers.Header) {
	f := &b.Frames[number]
	before := f.Data - m.Off // offset 0 of the frame
	if n := g.tagBytes(h); n > 0 {
		l.cut, l.tag = n, before+uint32(h.Tag)
		l.typ = headers.TypeOffset(b.Interfaces[f.Interface].LinkType, l.tag)
		m.Len, m.Tweak = m.Len-n, tweakFrame|uint64(uint32(m.Tweak)-n)
	}
	if g.ignore&MAC == 0 {
		return
	}
	const both = headers.FlagDst | headers.FlagSrc
	if h.Flags&both == both && before+uint32(h.Dst) == 0 && h.Src == h.Dst+linkAddresses/2 {
		g.skipAddresses(l, m)
		return
	}
	for _, address := range [...]struct {
		at   uint16
		flag uint8
	}{{h.Dst, headers.FlagDst}, {h.Src, headers.FlagSrc}} {
		if h.Flags&address.flag == 0 {
			continue
		}
		at := before + uint32(address.at)
		if l.cut > 0 && at >= l.tag {
			at -= l.cut
		}
		l.addresses[l.count] = at
		l.count++
	}
}

// skipAddresses has the message begin with the type of a frame, or if a tag follows, with the type of
// the last tag.
func (g *Identity) skipAddresses(l *linkParts, m *digest.Message) {
	m.Len = min(m.Len, g.limit)
	skipped := min(m.Len, linkAddresses)
	m.Off, m.Len, m.Tweak = m.Off+skipped, m.Len-skipped, tweakBare|uint64(uint32(m.Tweak))
	if l.cut == 0 {
		return
	}
	l.tag, l.typ = l.tag-linkAddresses, l.typ-linkAddresses
	if l.typ == 0 && l.tag == 2 {
		m.Off, l.cut = m.Off+l.cut, 0
	}
}

// copyTo copies src without the tags, as far as dst has room. A tag is two bytes of control
// information and the type of the next header. So the type in the last tag replaces the type
// that announced the first tag. src must have all tags.
func (l *linkParts) copyTo(dst, src []byte) {
	if l.cut == 0 {
		copy(dst, src)
		return
	}
	n := copy(dst, src[:l.tag])
	end := l.tag + l.cut
	copy(dst[n:], src[end:])
	copy(dst[min(int(l.typ), n):n], src[end-2:end])
}
