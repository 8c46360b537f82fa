package rotate

import (
	"fmt"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// Write is that of capture.Writer. An error is that of a file, and lasts until Retry: until then
// packets are counted as lost, and headers are still observed.
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
		opt := pcapfile.WriterOptions{Merged: r.opt.Merged, Format: pcapfile.FormatOf(r.name), Warn: r.warn}
		r.splitter = pcapfile.NewSplitter(b, opt)
	}
	if r.fits(b) {
		r.note(b, drop)
		r.write(b, drop, pcapfile.WholeOf(b))
		for i := range b.Blocks {
			r.splitter.Observe(b, i)
		}
		return r.err
	}
	pos := 0
	for i := range b.Blocks {
		before := int(b.Blocks[i].Before)
		r.frames(b, drop, pos, before)
		pos = before
		r.block(b, i)
	}
	r.frames(b, drop, pos, len(b.Frames))
	return r.err
}

// maxOverhead is more than a packet can take in a file beyond its record.
const maxOverhead = 128

// fits reports whether all of b goes to the file being written, whatever is dropped.
func (r *File) fits(b *capture.Batch) bool {
	return r.file != nil && r.file.enc.Size()+int64(len(b.Buf))+maxOverhead*int64(len(b.Frames)) <= r.file.limit &&
		!r.intervals.mayEnd(b.Frames)
}

// note looks for the first time of the file being written, which all of b goes to.
func (r *File) note(b *capture.Batch, drop []uint64) {
	for pos := 0; pos < len(b.Frames) && r.file.first == capture.NoTime; {
		lo, hi := capture.NextRun(drop, pos, len(b.Frames))
		for _, frame := range b.Frames[lo:hi] {
			r.file.note(&r.intervals, frame.Time)
		}
		pos = hi
	}
}

// frames writes the kept ones of frames pos..end-1.
func (r *File) frames(b *capture.Batch, drop []uint64, pos, end int) {
	for r.err == nil {
		pos, _ = capture.NextRun(drop, pos, end)
		if pos == end || !r.open(b) {
			break
		}
		stop := r.fileEnd(b, drop, pos, end)
		r.write(b, drop, pcapfile.Part{From: pos, To: stop})
		if stop < end && r.err == nil {
			r.close()
		}
		pos = stop
	}
	if r.err != nil {
		r.stats.Lost += capture.CountKept(drop, pos, end)
	}
}

// fileEnd returns the first kept frame of pos..end-1 that belongs to another file than
// the one being written, or end.
func (r *File) fileEnd(b *capture.Batch, drop []uint64, pos, end int) int {
	left, begun, packets := r.file.limit-r.file.enc.Size(), r.file.begun, r.file.packets > 0
	timed := r.file.enc.Timed()
	for pos < end {
		lo, hi := capture.NextRun(drop, pos, end)
		for i := lo; i < hi; i++ {
			left -= r.file.enc.FrameLen(b, i, timed)
			at := b.Frames[i].Time
			if left < 0 && begun || r.intervals.ends(at) && packets {
				return i
			}
			r.file.note(&r.intervals, at)
			begun, packets = true, true
			timed = timed || at != capture.NoTime
		}
		pos = hi
	}
	return end
}

// block writes block i of b. A section header or interface description that no packet
// may follow begins no file.
func (r *File) block(b *capture.Batch, i int) {
	k := &b.Blocks[i]
	if r.file != nil && r.file.begun && r.file.enc.Size()+int64(k.Len) > r.file.limit {
		r.close()
	}
	if r.err == nil && (r.file != nil || !isHeader(k.Type)) && r.open(b) {
		r.write(b, nil, pcapfile.Part{From: int(k.Before), To: int(k.Before), FromBlock: i, ToBlock: i + 1})
	}
	r.splitter.Observe(b, i)
}

// isHeader tells blocks that say nothing where no packet follows.
func isHeader(kind uint32) bool {
	return kind == capture.BlockFileHeader || kind == capture.BlockSectionHeader || kind == capture.BlockInterface
}
