// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"encoding/binary"
	"fmt"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// copyWriter writes records and blocks as they are in Batch.Buf, adjacent ones as one range.
type copyWriter struct {
	out   *outBuffer
	known int    // sections that were looked at
	heads int    // headers of sections that were written
	buf   []byte // Buf of the batch being written
	// buf[from:to] is to be written. The range grows as long as the next bytes are adjacent.
	from, to uint32
	packets  int // in that range
}

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
	w.buf, w.from, w.to = b.Buf, 0, 0
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
	w.flush()
	w.buf = nil
	return nil
}

// frames adds the kept ones of frames pos..end-1.
func (w *copyWriter) frames(frames []capture.Frame, drop []uint64, pos, end int) {
	for pos < end {
		lo, hi := capture.NextRun(drop, pos, end)
		if lo < hi {
			w.run(frames[lo:hi])
		}
		pos = hi
	}
}

// run adds frames that are all kept.
func (w *copyWriter) run(frames []capture.Frame) {
	from, to, counted := w.from, w.to, 0
	for i := range frames {
		f := &frames[i]
		if f.Record != to {
			w.from, w.to = from, to
			w.packets += i - counted
			w.flush()
			from, counted = f.Record, i
			to = from
		}
		to += f.RecordLen
	}
	w.from, w.to = from, to
	w.packets += len(frames) - counted
}

// add adds one range.
func (w *copyWriter) add(offset, n uint32) {
	if offset != w.to {
		w.flush()
		w.from, w.to = offset, offset
	}
	w.to += n
}

// flush writes the range gathered so far.
func (w *copyWriter) flush() {
	if w.from < w.to {
		w.out.write(w.buf[w.from:w.to])
		w.out.mark(w.packets)
		w.packets = 0
	}
	w.from = w.to
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
	w.from, w.to = k.Offset+end, k.Offset+k.Len
}
