// SPDX-License-Identifier: Apache-2.0

package strip

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// A record is a head, the packet, and a tail: padding, options and a second length in pcapng,
// nothing in pcap. Strip leaves the end of the packet where it is, and moves the bytes before
// each cut towards it.

// fcsLen is the length of the frame check sequence of Ethernet.
const fcsLen = 4

// isShortSimple reports whether frame i is a simple packet block with a truncated packet.
// Such a block does not state how much was captured: that follows from the snap length.
func isShortSimple(b *capture.Batch, i int) bool {
	f := &b.Frames[i]
	section := &b.Sections[b.Interfaces[f.Interface].Section]
	return f.CapLen < f.WireLen && section.Format == capture.FormatPcapNG &&
		encoding.Uint32(b.Record(i), section.BigEndian) == capture.BlockSimplePacket
}

// apply removes the planned headers from frame i and shortens its record.
func (p *plan) apply(b *capture.Batch, i int) {
	headers := p.cuts[len(p.cuts)-1].to
	checked := !p.carried && b.FCSLen(i) == fcsLen && isChecked(p.d, headers, b.Frames[i].WireLen)
	for _, w := range p.words {
		binary.BigEndian.PutUint16(p.d[w.at:], w.value)
	}
	at := p.move()
	if checked {
		left := p.d[at:p.end]
		binary.LittleEndian.PutUint32(left[len(left)-fcsLen:], crc32.ChecksumIEEE(left[:len(left)-fcsLen]))
	}
	f := &b.Frames[i]
	section := &b.Sections[b.Interfaces[f.Interface].Section]
	var r record
	r.set(b, f, section)
	if section.Format == capture.FormatPcap {
		r.pcap(at, p.end-at, p.wireLen(at))
	} else {
		r.pcapng(at, p.end-at, p.wireLen(at), p.carried)
	}
}

// untag is the fast path for a frame that loses only tags: it moves the addresses, and the
// head of the record, up to the last type field. It returns false, and changes nothing, if
// the record has options or is of a rare kind, or if frames have a check sequence.
func untag(b *capture.Batch, i int, typeAt uint32) bool {
	f := &b.Frames[i]
	it := &b.Interfaces[f.Interface]
	section := &b.Sections[it.Section]
	var r record
	r.set(b, f, section)
	switch {
	case it.FCSLen != 0:
		return false
	case section.Format == capture.FormatPcap:
	case f.Data-f.Record != encoding.PacketHead || f.RecordLen != encoding.MinPacketLen+pad4(f.CapLen):
		return false
	}
	n, wire := typeAt-firstType, f.WireLen
	copy(b.Buf[f.Data+n:], b.Buf[f.Data:f.Data+firstType])
	if section.Format == capture.FormatPcap {
		r.pcap(n, f.CapLen-n, wire-min(n, wire))
		return true
	}
	length := f.RecordLen - n // tags are whole words, so the padding stays
	r.begin(f.Data+n, f.CapLen-n, wire-min(n, wire))
	f.RecordLen = length
	r.lengths()
	return true
}

// isChecked reports whether a frame was captured whole, with a check sequence that is right
// and lies behind the headers, which end at offset headers.
func isChecked(d []byte, headers, wire uint32) bool {
	n := len(d) - fcsLen
	return n >= int(headers) && uint32(len(d)) == wire && binary.LittleEndian.Uint32(d[n:]) == crc32.ChecksumIEEE(d[:n])
}

// move closes the gaps of the cuts, and returns where the frame begins then.
func (p *plan) move() uint32 {
	last := len(p.cuts) - 1
	at := p.cuts[last].to
	for k := last; k >= 0; k-- {
		from := uint32(0)
		if k > 0 {
			from = p.cuts[k-1].to
		}
		n := p.cuts[k].from - from
		at -= n
		copy(p.d[at:], p.d[from:from+n])
	}
	return at
}

// wireLen returns the length on the wire of a frame that begins at offset at after it was
// moved: as many bytes are missing as at says.
func (p *plan) wireLen(at uint32) uint32 { return p.ends - min(at, p.ends) }

// record is a record whose packet is being replaced.
type record struct {
	buf     []byte
	f       *capture.Frame
	big     bool
	swapped bool
}

// set sets the fields. A literal is built elsewhere and copied by wider loads, which wait for its stores.
func (r *record) set(b *capture.Batch, f *capture.Frame, s *capture.Section) {
	r.buf, r.f, r.big, r.swapped = b.Buf, f, s.BigEndian, s.Swapped
}

func (r *record) put(at, v uint32) { encoding.PutUint32(r.buf[at:], v, r.big) }

func (r *record) get(at uint32) uint32 { return encoding.Uint32(r.buf[at:], r.big) }

// begin moves the head of the record before a packet at offset data.
func (r *record) begin(data, capLen, wireLen uint32) (head uint32) {
	f := r.f
	head = f.Data - f.Record
	if data != f.Data {
		copy(r.buf[data-head:data], r.buf[f.Record:f.Data])
	}
	f.Data, f.Record, f.CapLen, f.WireLen = data, data-head, capLen, wireLen
	return head
}

// pcap reduces the packet of the record to n bytes, from offset at of the packet on.
func (r *record) pcap(at, n, wire uint32) {
	const first, second = 8, 12 // the lengths
	f := r.f
	swapped := r.swapped || r.get(f.Record+first) != f.CapLen || r.get(f.Record+second) != f.WireLen
	f.RecordLen = r.begin(f.Data+at, n, wire) + n
	if swapped { // in version 2.3 only where they differ
		n, wire = wire, n
	}
	r.put(f.Record+first, n)
	r.put(f.Record+second, wire)
}

// pcapng is pcap for a block. The tail moves towards the start of the block only, since the next
// block may follow at once; so the packet may have to move by its padding.
func (r *record) pcapng(at, n, wire uint32, carried bool) {
	f := *r.f
	kind := r.get(f.Record)
	tail, size := f.Data+pad4(f.CapLen), f.Record+f.RecordLen
	size -= tail
	if kind != capture.BlockSimplePacket {
		size = r.options(tail, size, carried)
	}
	data := f.Data + at
	if over := data + pad4(n); over > tail {
		copy(r.buf[data-(over-tail):], r.buf[data:data+n])
		data -= over - tail
	}
	end := data + pad4(n)
	copy(r.buf[end:], r.buf[tail:tail+size])
	clear(r.buf[data+n : end])
	head := r.begin(data, n, wire)
	r.f.RecordLen = head + pad4(n) + size
	r.lengths()
}

// lengths writes the lengths of a packet block.
func (r *record) lengths() {
	f := r.f
	encoding.SetLengths(r.buf[f.Record:f.Record+f.RecordLen], f.Data-f.Record, f.CapLen, f.WireLen, r.big)
}

// options removes options that are no longer true from the tail of a packet: a hash, and with
// carried the length of the check sequence. It returns the length of the tail.
func (r *record) options(tail, size uint32, carried bool) uint32 {
	const fcsBits = 0xf << 5 // of the flags
	for o := (encoding.Options{Rest: r.buf[tail : tail+size-4], Big: r.big}); ; {
		at := tail + size - 4 - uint32(len(o.Rest))
		code, value, err := o.Next()
		switch {
		case err != nil, code == encoding.OptEnd:
			return size
		case code == encoding.OptHash:
			next := tail + size - 4 - uint32(len(o.Rest))
			copy(r.buf[at:], r.buf[next:tail+size])
			size -= next - at
			o.Rest = r.buf[at : tail+size-4]
		case code == encoding.OptFlags && len(value) >= 4 && carried:
			r.put(at+4, r.get(at+4)&^fcsBits)
		}
	}
}

// pad4 rounds n up to whole 32-bit words.
func pad4(n uint32) uint32 { return (n + 3) &^ 3 }
