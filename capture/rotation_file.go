package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
)

// rotatedFile is the file that a Rotation is writing.
type rotatedFile struct {
	out     *Output
	enc     encoder
	limit   int64  // bytes that it may have
	first   int64  // time of its first packet that has one, or NoTime
	begun   bool   // it holds more than its headers
	packets uint64 // in it
	ignored uint64 // blocks skipped among the headers, which were counted before
}

// buf is where the encoder writes to.
func (f *rotatedFile) buf() *outBuffer { return f.out.buf }

// len returns how many bytes were written, before any compression.
func (f *rotatedFile) len() int64 { return f.out.buf.passed + int64(len(f.out.buf.buf)) }

// timed reports whether a packet in it has a time.
func (f *rotatedFile) timed() bool { return f.first != NoTime }

func (f *rotatedFile) skippedBlocks() uint64 { return f.enc.skippedBlocks() - f.ignored }

// note looks for the first time in what was written.
func (f *rotatedFile) note(b *Batch, drop []uint64, p part) {
	for pos := p.from; pos < p.to && !f.timed(); {
		lo, hi := nextRun(drop, pos, p.to)
		for _, frame := range b.Frames[lo:hi] {
			if frame.Time != NoTime && frame.Time != math.MaxInt64 {
				f.first = frame.Time
				return
			}
		}
		pos = hi
	}
}

// open begins a file if none is being written, and reports whether one is.
func (r *Rotation) open() bool {
	if r.file != nil || r.err != nil {
		return r.err == nil
	}
	if err := r.head.check(); err != nil {
		r.fail(fmt.Errorf("write %s: %w", r.name, err))
		return false
	}
	out, err := createNew(r.name, r.names.next, r.opt.Output)
	if err != nil {
		r.fail(err)
		return false
	}
	f := &rotatedFile{out: out, first: NoTime, enc: newEncoder(r.kind, out.buf, &r.head.Batch)}
	if s, ok := f.enc.(*sectionWriter); ok {
		s.last = r.last
	}
	r.file = f
	r.write(&r.head.Batch, nil, wholeOf(&r.head.Batch))
	if r.err != nil {
		return false
	}
	f.begun, f.ignored, f.limit = false, f.enc.skippedBlocks(), math.MaxInt64
	if r.opt.Size > 0 {
		f.limit = max(r.opt.Size, 2*f.len())
	}
	return true
}

// write puts a part of a batch into the file being written.
func (r *Rotation) write(b *Batch, drop []uint64, p part) {
	f := r.file
	err := f.enc.encode(b, drop, p)
	if err == nil {
		err = f.buf().err
	}
	if err != nil {
		r.stats.Lost += kept(drop, p.from, p.to)
		r.fail(err)
		return
	}
	n := kept(drop, p.from, p.to)
	f.packets += n
	f.begun = f.begun || n > 0 || p.fromBlock < p.toBlock
	f.note(b, drop, p)
}

// close completes the file being written, and removes what is more than is kept.
func (r *Rotation) close() {
	f := r.file
	r.names.begin(f.first)
	if err := f.out.Commit(); err != nil {
		r.fail(err)
		return
	}
	r.file = nil
	r.stats.Files++
	r.stats.Packets += f.packets
	r.stats.Bytes += uint64(f.len())
	r.skipped += f.skippedBlocks()
	if s, ok := f.enc.(*sectionWriter); ok {
		r.last = s.last
	}
	r.done = append(r.done, f.out.final)
	r.prune()
}

// prune removes the oldest complete files beyond those that are kept. Somebody else
// may have taken them away.
func (r *Rotation) prune() {
	for r.opt.Keep > 0 && len(r.done) > r.opt.Keep {
		if err := os.Remove(r.done[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.fail(err)
			return
		}
		r.done = slices.Delete(r.done, 0, 1)
	}
}

// fail gives up the file being written.
func (r *Rotation) fail(err error) {
	r.err = err
	f := r.file
	if f == nil {
		return
	}
	r.file = nil
	r.stats.Lost += f.packets
	if aborted := f.out.Abort(); aborted != nil {
		r.err = errors.Join(err, aborted)
	}
}
