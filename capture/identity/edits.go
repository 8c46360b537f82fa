// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"encoding/binary"
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// A message lies in the batch. While it is digested, the fields that do not count are zero
// there: Sum applies edits before, and takes them back after. So whatever their length, frames
// are not copied.

// edit changes bits of the batch.
type edit struct {
	bits uint64 // these, little-endian; of one byte the low ones
	off  uint32 // in Batch.Buf
	kind editKind
}

type editKind uint8

const (
	clearWord editKind = iota // they are all 1, and become 0
	setWord                   // they are all 0, and become 1
	clearByte                 // the same for one byte
	setByte
)

// applyEdits changes bits of buf, and takeBack changes them back. That some frames share bytes
// does no harm where the same bits change.
func applyEdits(buf []byte, edits []edit) {
	for i := range edits {
		e := &edits[i]
		e.put(buf, e.kind)
	}
}

func takeBack(buf []byte, edits []edit) {
	for i := range edits {
		e := &edits[i]
		e.put(buf, e.kind^1)
	}
}

func (e *edit) put(buf []byte, kind editKind) {
	switch kind {
	case clearWord:
		word := buf[e.off:][:8]
		binary.LittleEndian.PutUint64(word, le64(word)&^e.bits)
	case setWord:
		word := buf[e.off:][:8]
		binary.LittleEndian.PutUint64(word, le64(word)|e.bits)
	case clearByte:
		buf[e.off] &^= byte(e.bits)
	case setByte:
		buf[e.off] |= byte(e.bits)
	}
}

// editor collects the edits of a run of frames.
type editor struct {
	edits []edit
	buf   []byte
	link  []byte // memory of untagged
}

// span is the part of Batch.Buf that one frame has. Nothing else may be written: other
// goroutines, or the kernel, may fill what lies around it.
type span struct{ first, end uint32 }

// clear zeroes the n bytes at offset at, as far as they lie in s.
func (e *editor) clear(s span, at, n uint32) {
	for end := min(at+n, s.end); at < end; at += 8 {
		e.set(s, at, min(end-at, 8), 0)
	}
}

// replace sets the bytes at offset at, which lie in s.
func (e *editor) replace(s span, at uint32, data []byte) {
	for len(data) > 0 {
		var word [8]byte
		n := copy(word[:], data)
		e.set(s, at, uint32(n), le64(word[:]))
		at, data = at+uint32(n), data[n:]
	}
}

// set sets 1 to 8 bytes, which lie in s.
func (e *editor) set(s span, at, n uint32, to uint64) {
	if s.end-s.first < 8 {
		for i := range n {
			e.add(at+i, clearByte, uint64(e.buf[at+i]), to>>(8*i)&0xff)
		}
		return
	}
	off := min(at, s.end-8)
	shift := 8 * (at - off)
	mask := uint64(math.MaxUint64) >> (64 - 8*n) << shift
	e.add(off, clearWord, le64(e.buf[off:])&mask, to<<shift&mask)
}

// add adds edits that change some bits. An edit that clears bits has kind kind, and one that sets
// bits has kind | 1.
func (e *editor) add(off uint32, kind editKind, was, to uint64) {
	if gone := was &^ to; gone != 0 {
		e.edits = append(e.edits, edit{gone, off, kind})
	}
	if more := to &^ was; more != 0 {
		e.edits = append(e.edits, edit{more, off, kind | 1})
	}
}

// tagBytes returns how many bytes of VLAN tags the identity leaves out.
func (g *Identity) tagBytes(h *headers.Header) uint32 {
	if g.ignore&VLAN == 0 {
		return 0
	}
	return 4 * uint32(h.Tags)
}

// editFrame leaves out what does not count of a frame, which is message m and has h.
func (g *Identity) editFrame(m *digest.Message, b *capture.Batch, i int, h *headers.Header) {
	s := span{m.Off, m.Off + m.Len}
	g.editLink(m, b, i, h)
	if h.Version != 0 {
		data := b.Frames[i].Data
		g.editIP(data+h.Start, h.Version)
		g.editDatagram(s, data, h)
	}
}

// editLink leaves out what does not count of the link header that message m begins with:
// addresses, VLAN tags. If a file claims a length shorter than the tags, the length in the
// tweak wraps around. That is harmless: it must only be equal for equal frames.
func (g *Identity) editLink(m *digest.Message, b *capture.Batch, i int, h *headers.Header) {
	if g.ignore&(MAC|VLAN) == 0 {
		return
	}
	f, s, tags := &b.Frames[i], span{m.Off, m.Off + m.Len}, g.tagBytes(h)
	link := g.edit.link[:0]
	if tags > 0 {
		link = g.untagged(link, b, i, h, m.Off)
		m.Off, m.Len = m.Off+tags, m.Len-tags
		m.Tweak = tweakFrame | uint64(uint32(m.Tweak)-tags)
	}
	if g.ignore&MAC != 0 {
		for _, address := range [...]struct {
			at   uint16
			flag uint8
		}{{h.Dst, headers.FlagDst}, {h.Src, headers.FlagSrc}} {
			at := f.Data + uint32(address.at)
			switch {
			case h.Flags&address.flag == 0:
			case at-s.first < uint32(len(link)):
				link := link[at-s.first:]
				clear(link[:min(6, len(link))])
			default:
				g.edit.clear(s, at, 6)
			}
		}
	}
	g.edit.replace(s, m.Off, link)
	g.edit.link = link
}

// untagged appends to link the bytes of the frame at offset start of b.Buf before its tags. A tag
// is two bytes of control information and the type of the next header. So the type in the last tag
// replaces the type that announced the first one.
func (g *Identity) untagged(link []byte, b *capture.Batch, i int, h *headers.Header, start uint32) []byte {
	f := &b.Frames[i]
	tag := f.Data + uint32(h.Tag)
	link = append(link, b.Buf[start:tag]...)
	if at := headers.TypeOffset(b.Interfaces[f.Interface].LinkType, tag-start); int(at) < len(link) {
		end := tag + g.tagBytes(h)
		copy(link[at:], b.Buf[end-2:end])
	}
	return link
}

// editIP leaves out what does not count of the first bytes of the IP header at an offset.
func (g *Identity) editIP(at uint32, version uint8) {
	words := g.masks.v4[:]
	if version == 6 {
		words = g.masks.v6[:]
	}
	for i, keep := range words {
		off := at + 8*uint32(i)
		g.edit.add(off, clearWord, le64(g.edit.buf[off:])&^keep, 0)
	}
}

// editDatagram does so for a datagram that h describes, in the frame at data, of which s is
// compared.
func (g *Identity) editDatagram(s span, data uint32, h *headers.Header) {
	if g.ignore&upperFields == 0 {
		return
	}
	d := datagram{span: s, ip: data + h.Start, end: data + h.End, version: h.Version, proto: h.Proto}
	if h.L4 != 0 {
		d.upper = data + h.L4
	}
	g.editUpper(&d)
}

// datagram says where the parts of a datagram lie in Batch.Buf.
type datagram struct {
	span                  // of its frame
	ip, end        uint32 // of its header; of all of it
	upper          uint32 // the header after IP, or 0
	version, proto uint8
}

// upperFields are the fields behind the masks of IP.
const upperFields = L4Checksum | TCPSeq | NAT

// editUpper zeroes what does not count behind the masks of IP.
func (g *Identity) editUpper(d *datagram) {
	if g.ignore&NAT != 0 {
		at, n := uint32(12), uint32(2*4)
		if d.version == 6 {
			at, n = 8, 2*16
		}
		g.edit.clear(d.span, d.ip+at, n)
	}
	if d.upper == 0 {
		return
	}
	if g.ignore&NAT != 0 {
		g.editPorts(d)
	}
	renumbered := g.ignore&TCPSeq != 0 && d.proto == iana.ProtoTCP
	if renumbered || g.ignore&(L4Checksum|NAT) != 0 {
		offset, n := checksumAt(d.proto)
		g.edit.clear(d.span, d.upper+offset, n)
	}
	if renumbered {
		g.editSequence(d)
	}
}

// editPorts zeroes the fields other than addresses that address translation changes: ports, or the
// identifier of an ICMP query (RFC 4787; RFC 5508, section 3.1).
func (g *Identity) editPorts(d *datagram) {
	const echoReply, echo = 0, 8
	switch {
	case iana.PortMask[d.proto] != 0:
		g.edit.clear(d.span, d.upper, 4)
	case d.proto == iana.ProtoICMP && d.upper < d.end && (g.edit.buf[d.upper] == echo || g.edit.buf[d.upper] == echoReply):
		g.edit.clear(d.span, d.upper+4, 2)
	}
}

// editSequence zeroes the sequence and acknowledgment numbers of a TCP header, including
// those in SACK blocks (RFC 2018).
func (g *Identity) editSequence(d *datagram) {
	const numbers, size, options = 4, 8, 20
	const endOfList, noOperation, sack = 0, 1, 5
	g.edit.clear(d.span, d.upper+numbers, size)
	tcp := g.edit.buf[d.upper:d.end]
	if len(tcp) < options {
		return
	}
	end := min(int(tcp[12]>>4)*4, len(tcp))
	for o := options; o+2 <= end && tcp[o] != endOfList; {
		if tcp[o] == noOperation {
			o++
			continue
		}
		n := int(tcp[o+1])
		if n < 2 || o+n > end {
			return
		}
		if tcp[o] == sack {
			g.edit.clear(d.span, d.upper+uint32(o)+2, uint32(n)-2)
		}
		o += n
	}
}
