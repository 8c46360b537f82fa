// SPDX-License-Identifier: Apache-2.0

package reassemble

import (
	"encoding/binary"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/internal/fragments"
)

// The record of a whole datagram begins with a list of its fragments: their number, the offset of
// the datagram's own record, and an entry for each, with offsets from the start of the list. Then come
// the records of the fragments in the order of the stream, and the datagram's own record, as a writer
// expects it. So the list moves with the record.
const (
	listHead  = 8
	listEntry = 32
	// longestHead is longer than what any record has before its packet, and shorter than the
	// least list.
	longestHead = 64
)

// isWhole reports whether a frame is a datagram that was put together. Frames that lie in the blocks
// of a capture ring have no record.
func isWhole(f *capture.Frame) bool { return f.RecordLen > 0 && f.Data-f.Record > longestHead }

// room is about the size of the record of a whole datagram.
func (d *datagram) room(j *Joiner) int {
	n := 2*listHead + d.size
	for i := range d.pieces {
		b, at := j.at(d.pieces[i].number)
		f := &b.Frames[at]
		n += listEntry + 2*max(int(f.RecordLen), int(f.CapLen)) - int(f.CapLen) // options, and headers
		n += d.pieces[i].start + d.pieces[i].head
	}
	return n
}

// addWhole appends a datagram.
func (j *Joiner) addWhole(to *capture.Batch, d *datagram) {
	start := len(to.Buf)
	n := len(d.pieces)
	to.Buf = append(to.Buf, make([]byte, listHead+n*listEntry)...)
	frames := len(to.Frames)
	for number, i := d.first, 0; i < n; number++ {
		b, at := j.at(number)
		if !d.has(number) {
			continue
		}
		add(to, b, at)
		f := to.Frames[frames]
		to.Frames = to.Frames[:frames]
		f.Data -= uint32(start)
		f.Record -= uint32(start)
		putFrame(to.Buf[start+listHead+i*listEntry:], &f)
		i++
	}
	list := to.Buf[start:]
	binary.LittleEndian.PutUint32(list, uint32(n))
	binary.LittleEndian.PutUint32(list[4:], uint32(len(list)))
	f := j.appendRecord(to, d)
	f.RecordLen += f.Record - uint32(start)
	f.Record = uint32(start)
	to.Frames = append(to.Frames, f)
}

// has reports whether a packet is a piece of the datagram.
func (d *datagram) has(number uint64) bool {
	return slices.ContainsFunc(d.pieces, func(p piece) bool { return p.number == number })
}

// appendRecord appends the record of a datagram: the record of its last fragment, with the link header
// of the first fragment and all of the payload. If a fragment was truncated, so is the datagram.
func (j *Joiner) appendRecord(to *capture.Batch, d *datagram) capture.Frame {
	b, i := j.at(d.last)
	f := b.Frames[i]
	record := b.Record(i)
	head := f.Data - f.Record
	if len(record) == 0 {
		head = 0
	}
	at := uint32(len(to.Buf))
	to.Buf = append(to.Buf, record[:head]...)
	first := &d.pieces[0]
	fb, fi := j.at(first.number)
	frame := fb.Data(fi)
	to.Buf = append(to.Buf, frame[:first.start]...)
	of, _ := fragments.Parse(frame[first.start:]) // as take did
	to.Buf = of.AppendHeader(to.Buf, frame[first.start:], d.size)
	wire := uint32(len(to.Buf)+d.size) - at - head
	for k := range d.pieces {
		p := &d.pieces[k]
		part := j.part(p, p.from, p.to)
		to.Buf = append(to.Buf, part...)
		if len(part) < p.to-p.from {
			break
		}
	}
	n := uint32(len(to.Buf)) - at - head
	section := &b.Sections[b.Interfaces[f.Interface].Section]
	switch {
	case head == 0:
	case section.Format == capture.FormatPcap:
		setLengths(to.Buf[at:], &f, n, wire, section.BigEndian)
	default:
		const end = 4
		to.Buf = append(to.Buf, make([]byte, -n&3)...)
		to.Buf = append(to.Buf, record[min(head+(f.CapLen+3)&^3, uint32(len(record)-end)):]...)
		encoding.SetLengths(to.Buf[at:], head, n, wire, section.BigEndian)
	}
	f.Record, f.RecordLen, f.Data, f.CapLen, f.WireLen = at, uint32(len(to.Buf))-at, at+head, n, wire
	return f
}

// setLengths sets the lengths of a record of pcap, which were the lengths of f, in the file's order.
func setLengths(record []byte, f *capture.Frame, n, wire uint32, big bool) {
	if encoding.Uint32(record[8:], big) != f.CapLen || encoding.Uint32(record[12:], big) != f.WireLen {
		n, wire = wire, n
	}
	encoding.PutUint32(record[8:], n, big)
	encoding.PutUint32(record[12:], wire, big)
}

func putFrame(p []byte, f *capture.Frame) {
	binary.LittleEndian.PutUint64(p, uint64(f.Time))
	for i, v := range [...]uint32{f.Data, f.CapLen, f.WireLen, f.Interface, f.Record, f.RecordLen} {
		binary.LittleEndian.PutUint32(p[8+4*i:], v)
	}
}

// frameAt reads an entry of a list that begins at offset start of the batch.
func frameAt(p []byte, start uint32) capture.Frame {
	u := func(i int) uint32 { return binary.LittleEndian.Uint32(p[8+4*i:]) }
	return capture.Frame{
		Time: int64(binary.LittleEndian.Uint64(p)),
		Data: start + u(0), CapLen: u(1), WireLen: u(2), Interface: u(3), Record: start + u(4), RecordLen: u(5),
	}
}

// Parts returns the packets that frame i of b was put together of, in their order, and nil for a
// packet that was not. They lie in b.
func Parts(b *capture.Batch, i int) []capture.Frame {
	f := &b.Frames[i]
	if !isWhole(f) {
		return nil
	}
	list := b.Record(i)
	parts := make([]capture.Frame, binary.LittleEndian.Uint32(list))
	for k := range parts {
		parts[k] = frameAt(list[listHead+k*listEntry:], f.Record)
	}
	return parts
}

// Any reports whether packets of b were put together.
func Any(b *capture.Batch) bool {
	for i := range b.Frames {
		if isWhole(&b.Frames[i]) {
			return true
		}
	}
	return false
}

// Splitter prepares batches for writers. It is for one goroutine at a time.
type Splitter struct {
	out  capture.Batch
	drop []uint64
}

// Split returns b with the fragments of each datagram in place of it, and the bitmap for these. With
// whole the datagrams that drop keeps stay whole, with a record as a writer expects it. The result
// shares the memory of b, and is valid until the next call. Without datagrams that were put
// together it is b.
func (s *Splitter) Split(b *capture.Batch, drop []uint64, whole bool) (*capture.Batch, []uint64) {
	if !Any(b) {
		return b, drop
	}
	out := &s.out
	out.Buf, out.Interfaces, out.Sections = b.Buf, b.Interfaces, b.Sections
	out.Frames, out.Blocks, s.drop = out.Frames[:0], append(out.Blocks[:0], b.Blocks...), s.drop[:0]
	out.Comments.Reset()
	block := 0
	for i := range b.Frames {
		for ; block < len(out.Blocks) && int(b.Blocks[block].Before) <= i; block++ {
			out.Blocks[block].Before = uint32(len(out.Frames))
		}
		dropped := capture.IsSet(drop, i)
		f := b.Frames[i]
		parts := Parts(b, i)
		if parts == nil || whole && !dropped {
			if parts != nil {
				at := binary.LittleEndian.Uint32(b.Record(i)[4:])
				f.Record += at
				f.RecordLen -= at
			}
			parts = []capture.Frame{f}
		}
		for _, part := range parts {
			n := len(out.Frames)
			if n%64 == 0 {
				s.drop = append(s.drop, 0)
			}
			if dropped {
				capture.SetBit(s.drop, n)
			}
			out.Frames = append(out.Frames, part)
			out.Comments.Set(n, b.Comments.Of(i))
		}
	}
	for ; block < len(out.Blocks); block++ {
		out.Blocks[block].Before = uint32(len(out.Frames))
	}
	return out, s.drop
}
