package pcapfile

import (
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/capture"
)

// pcap file format (draft-ietf-opsawg-pcap): magic numbers and lengths of what is
// written.
const (
	magicMicroseconds = 0xA1B2C3D4
	magicNanoseconds  = 0xA1B23C4D
	pcapRecordLen     = 16
	fcsLenPresent     = 1 << 26 // in the link type word; length in 16-bit units above bit 28
)

// pcapWriter writes several pcap inputs as one little-endian pcap file. Records
// that are already encoded as the output is are copied, the others encoded
// anew.
type pcapWriter struct {
	copyWriter
	nanosecond bool
	began      bool
	copyable   []bool // by section: records are as the output wants them
	inputs     int    // interfaces that were looked at
}

func newPcapWriter(out *outBuffer, b *capture.Batch) *pcapWriter {
	w := &pcapWriter{copyWriter: copyWriter{out: out}}
	for i := range b.Sections {
		w.nanosecond = w.nanosecond || b.Sections[i].Nanosecond
	}
	return w
}

func (w *pcapWriter) frameLen(b *capture.Batch, i int, _ bool) int64 {
	return pcapRecordLen + int64(b.Frames[i].CapLen)
}

// encode writes the file header before the first batch and all kept frames.
func (w *pcapWriter) encode(b *capture.Batch, drop []uint64, p Part) error {
	if !w.began {
		w.fileHeader(b.Interfaces)
		w.out.mark(0)
		w.began = true
	}
	if err := w.checkInputs(b); err != nil {
		return err
	}
	for i := p.FromBlock; i < p.ToBlock; i++ {
		if k := &b.Blocks[i]; k.Type == capture.BlockFileHeader {
			w.copyable[k.Section] = w.isCopyable(&b.Sections[k.Section], b.Block(i))
		}
	}
	w.buf, w.from, w.to = b.Buf, 0, 0
	for pos := p.From; pos < p.To; {
		lo, hi := capture.NextRun(drop, pos, p.To)
		w.mixed(b, lo, hi)
		pos = hi
	}
	w.flush()
	w.buf = nil
	return nil
}

// checkInputs makes sure that inputs which were not known when the header was
// written fit under it.
func (w *pcapWriter) checkInputs(b *capture.Batch) error {
	for ; w.known < len(b.Sections); w.known++ {
		w.copyable = append(w.copyable, false)
		if s := &b.Sections[w.known]; s.Format != capture.FormatPcap || (s.Nanosecond && !w.nanosecond) {
			return fmt.Errorf("%s input announced after the first batch: %w", s.Format, capture.ErrNotSupported)
		}
	}
	for ; w.inputs < len(b.Interfaces); w.inputs++ {
		t, first := &b.Interfaces[w.inputs], &b.Interfaces[0]
		if t.LinkType != first.LinkType || t.FCSLen != first.FCSLen {
			return fmt.Errorf("link types %v and %v in one pcap file: %w", first.LinkType, t.LinkType, capture.ErrNotSupported)
		}
	}
	return nil
}

// isCopyable reports whether records under this file header can be copied. Before
// version 2.4 the two lengths of a record may be swapped.
func (w *pcapWriter) isCopyable(s *capture.Section, header []byte) bool {
	return len(header) >= 8 && !s.BigEndian && s.Nanosecond == w.nanosecond && s.RecordHeader == pcapRecordLen &&
		le.Uint16(header[4:]) == 2 && le.Uint16(header[6:]) == 4
}

// fileHeader writes a header that covers all interfaces.
func (w *pcapWriter) fileHeader(interfaces []capture.Interface) {
	magic := uint32(magicMicroseconds)
	if w.nanosecond {
		magic = magicNanoseconds
	}
	snapLen := interfaces[0].SnapLen
	for i := range interfaces {
		if s := interfaces[i].SnapLen; s == 0 || snapLen == 0 {
			snapLen = 0
		} else {
			snapLen = max(snapLen, s)
		}
	}
	link := uint32(interfaces[0].LinkType)
	if n := uint32(interfaces[0].FCSLen); n > 0 {
		link |= fcsLenPresent | n/2<<28
	}
	p := w.out.extend(pcapHeaderLen)
	clear(p)
	le.PutUint32(p, magic)
	le.PutUint16(p[4:], 2)
	le.PutUint16(p[6:], 4)
	le.PutUint32(p[16:], snapLen)
	le.PutUint32(p[20:], link)
}

// mixed writes the kept frames lo..hi-1, runs of plain ones as ranges.
func (w *pcapWriter) mixed(b *capture.Batch, lo, hi int) {
	for lo < hi {
		at := b.Frames[lo].Interface
		plain := w.copyable[b.Interfaces[at].Section]
		end := lo + 1
		for end < hi && b.Frames[end].Interface == at {
			end++
		}
		if plain {
			w.run(b.Frames[lo:end])
		} else {
			w.flush()
			for i := lo; i < end; i++ {
				w.record(&b.Frames[i])
				w.out.write(b.Data(i))
				w.out.mark(1)
			}
		}
		lo = end
	}
}

// record writes the header of one record. A fraction of a second or more, which
// damaged writers produce, is carried into the seconds; the last seconds before
// 2106 take no carry.
func (w *pcapWriter) record(f *capture.Frame) {
	t := uint64(max(f.Time, 0))
	seconds := min(t/1e9, math.MaxUint32)
	fraction := t - seconds*1e9
	if !w.nanosecond {
		fraction /= 1000
	}
	p := w.out.extend(pcapRecordLen)
	le.PutUint32(p, uint32(seconds))
	le.PutUint32(p[4:], uint32(min(fraction, math.MaxUint32)))
	le.PutUint32(p[8:], f.CapLen)
	le.PutUint32(p[12:], f.WireLen)
}
