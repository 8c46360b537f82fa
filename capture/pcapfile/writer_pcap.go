// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// pcap file format (draft-ietf-opsawg-pcap): magic numbers and lengths.
const (
	magicMicroseconds = 0xA1B2C3D4
	magicNanoseconds  = 0xA1B23C4D
	pcapRecordLen     = 16
	fcsLenPresent     = 1 << 26 // in the link type word; length in 16-bit units above bit 28
)

// pcapWriter writes several pcap inputs as one little-endian pcap file. It copies records
// in the encoding of the output, and encodes the others anew.
type pcapWriter struct {
	copyWriter
	nanosecond bool
	began      bool
	copyable   []bool // by section: records are as the output wants them
	inputs     int    // interfaces that were looked at
	latest     int64  // time of the last packet with a time
}

func newPcapWriter(out *outBuffer, b *capture.Batch) *pcapWriter {
	w := &pcapWriter{copyWriter: newCopyWriter(out)}
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
	w.fileHeader(b.Interfaces, &b.Interfaces[0])
	if err := w.checkInputs(b); err != nil {
		return err
	}
	for i := p.FromBlock; i < p.ToBlock; i++ {
		if k := &b.Blocks[i]; k.Type == capture.BlockFileHeader {
			w.copyable[k.Section] = w.isCopyable(&b.Sections[k.Section], b.Block(i))
		}
	}
	w.begin(b)
	for lo, hi := capture.NextRun(drop, p.From, p.To); lo < p.To; lo, hi = capture.NextRun(drop, hi, p.To) {
		w.mixed(b, lo, hi)
	}
	w.end()
	return nil
}

// checkInputs returns an error if an input that the header does not know cannot be written
// under it.
func (w *pcapWriter) checkInputs(b *capture.Batch) error {
	for ; w.known < len(b.Sections); w.known++ {
		w.copyable = append(w.copyable, false)
		if s := &b.Sections[w.known]; s.Format != capture.FormatPcap || (s.Nanosecond && !w.nanosecond) {
			return fmt.Errorf("%s input announced after the first batch: %w", s.Format, capture.ErrNotSupported)
		}
	}
	for ; w.inputs < len(b.Interfaces); w.inputs++ {
		t, first := &b.Interfaces[w.inputs], &b.Interfaces[0]
		if !t.Derived && !sameLink(t, first) {
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

// fileHeader writes a header that covers all interfaces, once. The link type is first's.
func (w *pcapWriter) fileHeader(interfaces []capture.Interface, first *capture.Interface) {
	if w.began {
		return
	}
	w.began = true
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
	link := uint32(first.LinkType)
	if n := uint32(first.FCSLen); n > 0 {
		link |= fcsLenPresent | n/2<<28
	}
	p := w.out.extend(PcapHeaderLen)
	clear(p)
	le.PutUint32(p, magic)
	le.PutUint16(p[4:], 2)
	le.PutUint16(p[6:], 4)
	le.PutUint32(p[16:], snapLen)
	le.PutUint32(p[20:], link)
	w.out.mark(0)
}

// mixed writes the kept frames lo..hi-1. It copies runs of records that are copyable.
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
			w.latest = lastTime(b.Frames[lo:end], w.latest)
		} else {
			w.flush()
			for i := lo; i < end; i++ {
				w.anew(b, i)
			}
		}
		lo = end
	}
}

// record writes the header of one record. A fraction of a second or more, which broken
// writers produce, carries into the seconds, but not beyond the end of 32 bits in 2106.
func (w *pcapWriter) record(f *capture.Frame) {
	t := uint64(max(f.Time, 0))
	// The quotient is not compared: for s390x, Go 1.26 drops such a comparison.
	seconds := t / 1e9
	if t >= (math.MaxUint32+1)*1e9 {
		seconds = math.MaxUint32
	}
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

// anew writes a frame with a header of its own. A frame without a time gets the time of the frame
// before it, or 0.
func (w *pcapWriter) anew(b *capture.Batch, i int) {
	f := b.Frames[i]
	w.latest = lastTime(b.Frames[i:i+1], w.latest)
	f.Time = w.latest
	w.record(&f)
	w.out.write(b.Data(i))
	w.out.mark(1)
}

// pcapConverter writes inputs, some of them pcapng, as one pcap file: see NewWriter.
type pcapConverter struct {
	pcapWriter
	first uint32       // the interface of the first packet
	from  []pcapOrigin // by interface
	loss  formatLoss
}

// pcapOrigin describes an interface that packets may come from.
type pcapOrigin struct {
	used  bool // packets of it were written
	finer bool // nanoseconds do not hold each of its times
}

// formatLoss counts data that a pcap file cannot hold.
type formatLoss struct {
	options    uint64 // of packets
	blocks     uint64
	described  uint64 // options of interfaces: with a single interface nobody misses them
	statistics uint64 // blocks of counts of interfaces, likewise
	interfaces uint64 // that packets came from
	times      uint64 // that are finer, or beyond 32 bits of seconds
}

func newPcapConverter(out *outBuffer, b *capture.Batch, first uint32) *pcapConverter {
	w := &pcapConverter{pcapWriter: pcapWriter{copyWriter: newCopyWriter(out)}, first: first}
	for i := range b.Interfaces {
		w.nanosecond = w.nanosecond || !inTicks(1e6, &b.Interfaces[i])
	}
	return w
}

// inTicks reports whether a clock of units a second holds each time of an interface.
func inTicks(units uint64, it *capture.Interface) bool { return units%it.TicksPerSecond == 0 }

// encode writes the file header before the first batch and all kept frames.
func (w *pcapConverter) encode(b *capture.Batch, drop []uint64, p Part) error {
	w.fileHeader(b.Interfaces, &b.Interfaces[w.first])
	for len(w.copyable) < len(b.Sections) {
		w.copyable = append(w.copyable, false)
	}
	for i := p.FromBlock; i < p.ToBlock; i++ {
		w.block(b, i)
	}
	w.begin(b)
	for lo, hi := capture.NextRun(drop, p.From, p.To); lo < p.To; lo, hi = capture.NextRun(drop, hi, p.To) {
		for i := lo; i < hi; i++ {
			if err := w.frame(b, i); err != nil {
				w.end()
				return err
			}
		}
	}
	w.end()
	return nil
}

// frame writes one frame.
func (w *pcapConverter) frame(b *capture.Batch, i int) error {
	f := &b.Frames[i]
	it := &b.Interfaces[f.Interface]
	if first := &b.Interfaces[w.first]; !sameLink(it, first) {
		return fmt.Errorf("packet of an interface of link type %v, described behind the first packet, in pcap of link type %v (pcapng holds both): %w",
			it.LinkType, first.LinkType, capture.ErrNotSupported)
	}
	w.count(b, f, it)
	if w.copyable[it.Section] && isWithin(f.Time, le.Uint32(b.Buf[f.Record:])) {
		w.run(b.Frames[i : i+1])
		w.latest = f.Time
		return nil
	}
	w.flush()
	w.anew(b, i)
	return nil
}

// isWithin reports whether a time is within a second after 1970, as record writes it.
func isWithin(time int64, second uint32) bool { return uint64(time)-uint64(second)*1e9 < 1e9 }

// count counts the parts of a frame that are lost.
func (w *pcapConverter) count(b *capture.Batch, f *capture.Frame, it *capture.Interface) {
	for n := len(w.from); n < len(b.Interfaces); n++ {
		w.from = append(w.from, pcapOrigin{finer: !inTicks(1e9, &b.Interfaces[n])})
	}
	from := &w.from[f.Interface]
	if !from.used {
		from.used = true
		w.loss.interfaces++
	}
	if f.Time != capture.NoTime && (from.finer || !w.nanosecond && f.Time%1000 != 0 || uint64(f.Time) >= 1e9<<32) {
		w.loss.times++
	}
	s := &b.Sections[it.Section]
	if s.Format == capture.FormatPcapNG && f.RecordLen > encoding.MinPacketLen+pad4(f.CapLen) {
		record := b.Buf[f.Record : f.Record+f.RecordLen-4]
		w.loss.options += lostOptions(record[encoding.PacketHead+pad4(f.CapLen):], s.BigEndian)
	}
}

// lostOptions counts the options of a list, without options that a pcap file holds in its own way.
func lostOptions(list []byte, big bool, kept ...uint16) (lost uint64) {
	for o := (encoding.Options{Rest: list, Big: big}); ; {
		code, _, err := o.Next()
		if err != nil || code == encoding.OptEnd {
			return lost
		}
		if !slices.Contains(kept, code) {
			lost++
		}
	}
}

// block counts the parts of block i that are lost. The file header takes the place of headers.
func (w *pcapConverter) block(b *capture.Batch, i int) {
	k := &b.Blocks[i]
	switch k.Type {
	case capture.BlockFileHeader:
		w.copyable[k.Section] = w.isCopyable(&b.Sections[k.Section], b.Block(i))
	case capture.BlockSectionHeader:
	case capture.BlockInterface:
		block := b.Block(i)
		list := block[encoding.MinInterfaceLen-4 : len(block)-4]
		w.loss.described += lostOptions(list, b.Sections[k.Section].BigEndian, encoding.OptTSResol, encoding.OptTSOffset, encoding.OptFCSLen)
	case capture.BlockStatistics:
		w.loss.statistics++
	default:
		w.loss.blocks++
	}
}

// lost returns the losses, as an error that wraps ErrFormatLoss, or nil.
func (w *pcapConverter) lost() error {
	var words []string
	add := func(n uint64, what string) {
		if n > 1 {
			what += "s"
		}
		if n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, what))
		}
	}
	all := w.loss
	if all.interfaces > 1 {
		all.options, all.blocks = all.options+all.described, all.blocks+all.statistics
	}
	add(all.options, "option")
	add(all.blocks, "block")
	add(w.loss.times, "exact time")
	if n := w.loss.interfaces; n > 1 {
		words = append(words, fmt.Sprintf("which of %d interfaces a packet came from", n))
	}
	if len(words) == 0 {
		return nil
	}
	return fmt.Errorf("pcap %w %s: a name that ends with .pcapng keeps them", ErrFormatLoss, strings.Join(words, ", "))
}
