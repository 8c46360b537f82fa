// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"fmt"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// Write implements capture.Writer. An error of a file lasts until Retry. Until then packets
// count as lost, and Write still observes headers.
func (r *File) Write(b *capture.Batch, drop []uint64) error {
	capture.CheckDrop(b, drop)
	if r.ended {
		return fmt.Errorf("write %s: %w", r.name, outfile.ErrClosed)
	}
	r.pollCompleted()
	if r.splitter == nil {
		if len(b.Sections) == 0 {
			return nil
		}
		opt := pcapfile.WriterOptions{
			Merged: r.opt.Merged, Derived: r.opt.Derived, Commented: r.opt.Commented,
			Format: pcapfile.FormatOf(r.name), Warn: r.warn,
		}
		r.splitter = pcapfile.NewSplitter(b, opt)
	}
	if r.fits(b) {
		r.note(b, drop)
		r.write(b, drop, pcapfile.WholeOf(b))
		for i := range b.Blocks {
			r.splitter.Observe(b, i)
		}
		return r.tell()
	}
	pos := 0
	for i := range b.Blocks {
		before := int(b.Blocks[i].Before)
		r.frames(b, drop, pos, before)
		pos = before
		r.block(b, i)
	}
	r.frames(b, drop, pos, len(b.Frames))
	return r.tell()
}

// maxOverhead is more than the bytes that a packet can take in a file beyond its record and
// the text of its comment.
const maxOverhead = 512

// fits reports whether all of b goes to the file being written, whatever is dropped.
func (r *File) fits(b *capture.Batch) bool {
	most := int64(len(b.Buf)+b.Comments.Size()) + maxOverhead*int64(len(b.Frames))
	return r.file != nil && r.enc.Size()+most <= r.file.limit && !r.intervals.mayEnd(b.Frames)
}

// note finds the first time of the file being written, if all of b goes to it.
func (r *File) note(b *capture.Batch, drop []uint64) {
	end := len(b.Frames)
	for lo, hi := capture.NextRun(drop, 0, end); lo < end && r.file.first == capture.NoTime; lo, hi = capture.NextRun(drop, hi, end) {
		for _, frame := range b.Frames[lo:hi] {
			r.file.note(&r.intervals, frame.Time)
		}
	}
}

// frames writes the kept frames of pos..end-1.
func (r *File) frames(b *capture.Batch, drop []uint64, pos, end int) {
	for r.err == nil {
		pos, _ = capture.NextRun(drop, pos, end)
		if pos == end || !r.open(b) {
			break
		}
		stop, full := r.fileEnd(b, drop, pos, end)
		r.write(b, drop, pcapfile.Part{From: pos, To: stop})
		if full && r.err == nil {
			r.close()
		}
		pos = stop
	}
	if r.err != nil {
		r.stats.Lost += capture.CountKept(drop, pos, end)
	}
}

// fileEnd returns up to where the frames of pos..end-1 can be written to the file being
// written. full says that the next frame belongs to a new file. Otherwise the next frame may
// fit: its size is known once the frames before it are written.
func (r *File) fileEnd(b *capture.Batch, drop []uint64, pos, end int) (stop int, full bool) {
	left, begun, packets := r.file.limit-r.enc.Size(), r.file.begun, r.file.packets > 0
	timed := r.enc.Timed()
	for lo, hi := capture.NextRun(drop, pos, end); lo < end; lo, hi = capture.NextRun(drop, hi, end) {
		for i := lo; i < hi; i++ {
			left -= r.enc.FrameLen(b, i, timed)
			at := b.Frames[i].Time
			if left < 0 && begun || r.intervals.ends(at) && packets {
				return i, true
			}
			if r.enc.Describes(b, i) {
				r.file.note(&r.intervals, at)
				return i + 1, false
			}
			r.file.note(&r.intervals, at)
			begun, packets = true, true
			timed = timed || at != capture.NoTime
		}
	}
	return end, false
}

// block writes block i of b. A section header or interface description that no packet
// may follow begins no file.
func (r *File) block(b *capture.Batch, i int) {
	k := &b.Blocks[i]
	if r.file != nil && r.file.begun && r.enc.Size()+int64(k.Len) > r.file.limit {
		r.close()
	}
	if r.err == nil && (r.file != nil || !isHeader(k.Type)) && r.open(b) {
		r.write(b, nil, pcapfile.Part{From: int(k.Before), To: int(k.Before), FromBlock: i, ToBlock: i + 1})
	}
	r.splitter.Observe(b, i)
}

// isHeader reports whether a block has no meaning without packets after it.
func isHeader(kind uint32) bool {
	return kind == capture.BlockFileHeader || kind == capture.BlockSectionHeader || kind == capture.BlockInterface
}

// open begins a file for packets or blocks of b if none is being written. It returns false if that
// fails.
func (r *File) open(b *capture.Batch) bool {
	if r.file != nil || r.err != nil {
		return r.err == nil
	}
	if err := r.splitter.Check(); err != nil {
		r.fail(fmt.Errorf("write %s: %w", r.name, err))
		return false
	}
	out, err := outfile.CreateNew(r.name, r.names.next, r.opt.Output)
	if err != nil {
		r.fail(err)
		return false
	}
	enc, err := r.splitter.Begin(out, b)
	r.enc, r.file = enc, newSegment(out, enc, r.opt.Size)
	r.file.over = func() { r.splitter.End(enc) }
	if err != nil {
		r.fail(err)
	}
	return err == nil
}

// write puts a part of a batch into the file being written.
func (r *File) write(b *capture.Batch, drop []uint64, p pcapfile.Part) {
	f := r.file
	n := capture.CountKept(drop, p.From, p.To)
	if err := r.enc.Encode(b, drop, p); err != nil {
		r.stats.Lost += n
		r.fail(err)
		return
	}
	f.packets += n
	f.begun = f.begun || n > 0 || p.FromBlock < p.ToBlock
}
