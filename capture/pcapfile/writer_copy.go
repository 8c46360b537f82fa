// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"encoding/binary"
	"fmt"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// copyWriter writes records and blocks as they are in Batch.Buf, and adjacent records as one range.
type copyWriter struct {
	ranges
	out   *outBuffer
	known int // sections that were looked at
	heads int // headers of sections that were written
}

func newCopyWriter(out *outBuffer) copyWriter { return copyWriter{ranges: ranges{to: out}, out: out} }

// sectionLengthAt is where a section header block holds the section length.
const sectionLengthAt = 16

func (w *copyWriter) skippedBlocks() uint64 { return 0 }

func (w *copyWriter) frameLen(b *capture.Batch, i int, _ bool) int64 {
	return int64(b.Frames[i].RecordLen)
}

func (w *copyWriter) describes(*capture.Batch, int) bool { return false }

func (w *copyWriter) encode(b *capture.Batch, drop []uint64, p Part) error {
	for ; w.known < len(b.Sections); w.known++ {
		s := &b.Sections[w.known]
		if s.Input != b.Sections[0].Input && (s.Format == capture.FormatPcap || b.Sections[0].Format == capture.FormatPcap) {
			return fmt.Errorf("%s input announced after the first batch: %w", s.Format, capture.ErrNotSupported)
		}
	}
	w.begin(b)
	pos := p.From
	for i := p.FromBlock; i < p.ToBlock; i++ {
		k := &b.Blocks[i]
		w.frames(b.Frames, drop, pos, int(k.Before))
		pos = int(k.Before)
		if k.Type == capture.BlockSectionHeader {
			if w.heads++; w.heads > len(b.Sections) {
				return fmt.Errorf("header %d of %d sections: %w: the source describes its interfaces again instead of giving each batch the same tables",
					w.heads, len(b.Sections), capture.ErrNotSupported)
			}
			w.sectionHeader(k)
		} else {
			w.add(k.Offset, k.Len)
		}
	}
	w.frames(b.Frames, drop, pos, p.To)
	w.end()
	return nil
}

// sectionHeader adds a section header with its length set to unknown.
func (w *copyWriter) sectionHeader(k *capture.Block) {
	const end = sectionLengthAt + 8
	if k.Len < encoding.MinSectionLen || binary.NativeEndian.Uint64(w.buf[k.Offset+sectionLengthAt:]) == encoding.UnknownLength {
		w.add(k.Offset, k.Len)
		return
	}
	w.flush()
	w.out.write(w.buf[k.Offset:][:sectionLengthAt])
	binary.NativeEndian.PutUint64(w.out.extend(8), encoding.UnknownLength)
	w.first, w.last = k.Offset+end, k.Offset+k.Len
}

// ranges joins records and blocks that are adjacent in Batch.Buf.
type ranges struct {
	to  rangeTaker
	buf []byte // Buf of the batch
	// buf[first:last] is the range that grows as long as the next bytes are adjacent.
	first, last uint32
	packets     int // in that range
}

// rangeTaker takes whole records and blocks, with this number of packets among them.
type rangeTaker interface{ put(p []byte, packets int) }

func (r *ranges) begin(b *capture.Batch) { r.buf, r.first, r.last = b.Buf, 0, 0 }

func (r *ranges) end() {
	r.flush()
	r.buf = nil
}

// frames adds the kept frames of pos..end-1.
func (r *ranges) frames(frames []capture.Frame, drop []uint64, pos, end int) {
	for lo, hi := capture.NextRun(drop, pos, end); lo < end; lo, hi = capture.NextRun(drop, hi, end) {
		r.run(frames[lo:hi])
	}
}

// run adds frames that are all kept.
func (r *ranges) run(frames []capture.Frame) {
	from, to, counted := r.first, r.last, 0
	for i := range frames {
		f := &frames[i]
		if f.Record != to {
			r.first, r.last = from, to
			r.packets += i - counted
			r.flush()
			from, counted = f.Record, i
			to = from
		}
		to += f.RecordLen
	}
	r.first, r.last = from, to
	r.packets += len(frames) - counted
}

// add adds a range.
func (r *ranges) add(offset, n uint32) {
	if offset != r.last {
		r.flush()
		r.first, r.last = offset, offset
	}
	r.last += n
}

// flush writes the range gathered so far.
func (r *ranges) flush() {
	if r.first < r.last {
		r.to.put(r.buf[r.first:r.last], r.packets)
		r.packets = 0
	}
	r.first = r.last
}
