// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// sectionWriter writes inputs of any kind as one little-endian pcapng section; NewWriter
// describes the conversion of each kind of block.
type sectionWriter struct {
	out      *outBuffer
	sections []sectionMap // by index into Batch.Sections
	targets  []target     // by index into Batch.Interfaces
	next     uint32       // number of the next interface
	last     int64        // latest packet time that was written, or NoTime
	scratch  []byte       // a block or option list while it is converted
	skipped  uint64
}

// sectionMap leads from a section of an input to Batch.Interfaces.
type sectionMap struct {
	interfaces []uint32 // index into Batch.Interfaces by number within the section
	described  int      // how many of them were written
}

// target says how frames of one interface are written.
type target struct {
	id     uint32 // interface number in the output
	known  bool   // the interface description was written
	origin origin
}

// fromPcap reports whether frames are described, and from a pcap input.
func (t *target) fromPcap() bool { return t.known && t.origin <= fromPcapNano }

// origin is the encoding of frames.
type origin uint8

const (
	fromPcapMicro origin = iota
	fromPcapNano
	fromLittle // pcapng
	fromBig    // pcapng
)

func newSectionWriter(out *outBuffer) *sectionWriter {
	w := &sectionWriter{out: out, last: capture.NoTime}
	out.write(capture.AppendSectionHeader(nil))
	out.mark(0)
	return w
}

func (w *sectionWriter) skippedBlocks() uint64 { return w.skipped }

// encode writes new entries of the tables, then blocks and frames in order.
func (w *sectionWriter) encode(b *capture.Batch, drop []uint64, p Part) error {
	if err := w.grow(b); err != nil {
		return err
	}
	pos := p.From
	for i := p.FromBlock; i < p.ToBlock; i++ {
		if err := w.frames(b, drop, pos, int(b.Blocks[i].Before)); err != nil {
			return err
		}
		pos = int(b.Blocks[i].Before)
		if err := w.block(b, i); err != nil {
			return err
		}
		w.out.mark(0)
	}
	return w.frames(b, drop, pos, p.To)
}

func (w *sectionWriter) frameLen(b *capture.Batch, i int, timed bool) int64 {
	f, head := &b.Frames[i], int64(0)
	if w.describes(b, i) {
		w.scratch = appendDerived(w.scratch[:0], &b.Interfaces[f.Interface])
		head = int64(len(w.scratch))
	}
	if s := &b.Sections[b.Interfaces[f.Interface].Section]; s.Format == capture.FormatPcapNG {
		return head + int64(w.blockLen(b, i, s.BigEndian, timed))
	}
	return head + int64(encoding.MinPacketLen+pad4(f.CapLen)+uint32(len(w.commentList(b.Comments.Of(i)))))
}

// describes reports whether frame i is the first of an interface that was derived.
func (w *sectionWriter) describes(b *capture.Batch, i int) bool {
	at := b.Frames[i].Interface
	return b.Interfaces[at].Derived && (int(at) >= len(w.targets) || !w.targets[at].known)
}

// grow follows the tables of the batch. It describes interfaces of pcap inputs, for which
// no block comes. Derived interfaces wait for their first packet.
func (w *sectionWriter) grow(b *capture.Batch) error {
	for len(w.sections) < len(b.Sections) {
		w.sections = append(w.sections, sectionMap{})
	}
	for g := len(w.targets); g < len(b.Interfaces); g++ {
		it := &b.Interfaces[g]
		s := &b.Sections[it.Section]
		t := target{origin: originOf(s)}
		if s.Format == capture.FormatPcap && !it.Derived {
			if it.LinkType > math.MaxUint16 {
				return fmt.Errorf("link type %v in pcapng: %w", it.LinkType, capture.ErrNotSupported)
			}
			w.describe(&t, capture.AppendInterface(w.scratch[:0], it, s.Nanosecond))
		}
		w.targets = append(w.targets, t)
		if m := &w.sections[it.Section]; !it.Derived {
			m.interfaces = append(m.interfaces, uint32(g))
		}
	}
	return nil
}

// originOf returns the encoding of the frames of a section.
func originOf(s *capture.Section) origin {
	switch {
	case s.Format == capture.FormatPcap && s.Nanosecond:
		return fromPcapNano
	case s.Format == capture.FormatPcap:
		return fromPcapMicro
	case s.BigEndian:
		return fromBig
	}
	return fromLittle
}

// describe writes the description of an interface, and gives it a number.
func (w *sectionWriter) describe(t *target, description []byte) {
	t.id, t.known = w.next, true
	w.next++
	w.out.write(description)
	w.out.mark(0)
	w.scratch = description
}

// frames writes the kept frames of pos..end-1.
func (w *sectionWriter) frames(b *capture.Batch, drop []uint64, pos, end int) error {
	for lo, hi := capture.NextRun(drop, pos, end); lo < end; lo, hi = capture.NextRun(drop, hi, end) {
		for i := lo; i < hi; i++ {
			if i = w.pcapRun(b, i, hi); i == hi {
				break
			}
			f := &b.Frames[i]
			t := &w.targets[f.Interface]
			if !t.known && b.Interfaces[f.Interface].Derived {
				w.describe(t, appendDerived(w.scratch[:0], &b.Interfaces[f.Interface]))
			}
			if !t.known {
				return fmt.Errorf("frame of interface %d, which no block describes: %w", f.Interface, capture.ErrDamaged)
			}
			switch t.origin {
			case fromPcapMicro:
				w.packet(b, i, t.id, w.timeOf(f)/1000, w.commentList(b.Comments.Of(i)))
			case fromPcapNano:
				w.packet(b, i, t.id, w.timeOf(f), w.commentList(b.Comments.Of(i)))
			default:
				w.packetBlock(b, i, t)
			}
			w.out.mark(1)
			if f.Time != capture.NoTime {
				w.last = f.Time
			}
		}
	}
	return nil
}

// pcapRun writes frames lo..hi-1 as enhanced packet blocks, up to the first frame that is not from the
// same pcap interface or does not fit into the buffer. It returns that frame's number.
func (w *sectionWriter) pcapRun(b *capture.Batch, lo, hi int) (next int) {
	from := b.Frames[lo].Interface
	t := w.targets[from]
	if !t.fromPcap() {
		return lo
	}
	frames, commented := b.Frames[lo:hi], b.Comments.Size() > 0
	in, out, used := b.Buf, w.out.buf[:cap(w.out.buf)], len(w.out.buf)
	for i := range frames {
		f := &frames[i]
		if f.Interface != from {
			break
		}
		n, options := encoding.MinPacketLen+int(pad4(f.CapLen)), []byte(nil)
		if commented {
			if comment := b.Comments.Of(lo + i); len(comment) > 0 {
				options = w.commentList(comment)
				n += len(options)
			}
		}
		if n >= directSize || n > len(out)-used {
			break
		}
		putPcap(out[used:used+n], in[f.Data:f.Data+f.CapLen], f, &t, w.timeOf(f))
		if len(options) > 0 {
			copy(out[used+n-4-len(options):], options)
		}
		used += n
		next++
		if f.Time != capture.NoTime {
			w.last = f.Time
		}
	}
	w.out.buf = out[:used]
	w.out.mark(next)
	return lo + next
}

// putPcap puts a frame from pcap, with a time in nanoseconds, into an enhanced packet block that
// is as long as p.
func putPcap(p, data []byte, f *capture.Frame, t *target, time uint64) {
	if t.origin == fromPcapMicro {
		time /= 1000
	}
	encoding.PutPacketHead(p, uint32(len(p)), t.id, time, f.CapLen, f.WireLen)
	le.PutUint32(p[len(p)-4:], uint32(len(p)))
	if k := len(data) & 3; k != 0 {
		clear(p[encoding.PacketHead+len(data):][:4-k])
	}
	copy(p[encoding.PacketHead:], data)
}

// timeOf returns the time to write for a frame from pcap: its time, else the time of the frame
// before, since a block must have a time.
func (w *sectionWriter) timeOf(f *capture.Frame) uint64 {
	if f.Time == capture.NoTime {
		return uint64(max(w.last, 0))
	}
	return uint64(max(f.Time, 0))
}

// u32 writes one integer.
func (w *sectionWriter) u32(v uint32) {
	le.PutUint32(w.out.extend(4), v)
}

// pad4 rounds n up to whole 32-bit words.
func pad4(n uint32) uint32 { return (n + 3) &^ 3 }

// ticksAt returns a time in the unit of an interface, rounded down. Out of its range it is
// the nearest value.
func ticksAt(time int64, it *capture.Interface) uint64 {
	// Whole seconds and the remainder are separate: their product with the resolution
	// needs 128 bits.
	seconds, rest := time/1e9, time%1e9
	if rest < 0 {
		seconds, rest = seconds-1, rest+1e9
	}
	// Beyond this every resolution is at its end, and the difference cannot wrap.
	const far = 1 << 62
	since := seconds - min(max(it.OffsetSeconds, -far), far)
	if since < 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(since), it.TicksPerSecond)
	restHigh, restLow := bits.Mul64(uint64(rest), it.TicksPerSecond)
	part, _ := bits.Div64(restHigh, restLow, 1e9)
	sum, carry := bits.Add64(low, part, 0)
	if high+carry != 0 {
		return math.MaxUint64
	}
	return sum
}

// appendDerived appends the little-endian pcapng description of a derived interface. Its clock is
// the clock of the interface that it was derived from.
func appendDerived(p []byte, it *capture.Interface) []byte {
	start := len(p)
	p = encoding.BeginBlock(p, capture.BlockInterface)
	p = le.AppendUint32(p, uint32(it.LinkType))
	p = le.AppendUint32(p, it.SnapLen)
	p = encoding.AppendOption(p, encoding.OptName, strings.ToValidUTF8(it.Name, "\uFFFD"))
	p = encoding.AppendOption(p, encoding.OptTSResol, string([]byte{byte(resolutionOf(it.TicksPerSecond))}))
	if it.OffsetSeconds != 0 {
		p = encoding.AppendCount(p, encoding.OptTSOffset, uint64(it.OffsetSeconds))
	}
	p = le.AppendUint32(p, encoding.OptEnd)
	return encoding.EndBlock(p, start)
}

// resolutionOf is the inverse of resolution.ticksPerSecond.
func resolutionOf(ticks uint64) resolution {
	for n := range uint(19) {
		if ticks == power10(n) {
			return resolution(n)
		}
	}
	return resolution(0x80 | bits.Len64(ticks) - 1)
}
