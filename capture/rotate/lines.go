// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"fmt"

	"github.com/flowdedup/flowdedup/capture/outfile"
)

// Lines writes lines to a series of files, as File does with packets: the same options
// (Size, Every, Keep, KeepBytes, Output, Completed, Warn), names, and rules for times and
// failures. Each file begins with the header. Stats and Completed count lines as packets.
//
// Lines is for one goroutine. Either Commit or Discard must be called.
type Lines struct {
	*series
	header []byte
	enc    *lineEncoder // of series.file
}

// NewLines checks that files can be made, as New does. The header begins each file; it may be
// nil.
func NewLines(name string, header []byte, opt Options) (*Lines, error) {
	s, err := newSeries(name, opt)
	if err != nil {
		return nil, err
	}
	return &Lines{series: s, header: header}, nil
}

// Put writes a line, with its end, of this time; capture.NoTime is none. It does not keep
// the line. An error lasts until Retry, and until then lines count as lost.
func (r *Lines) Put(line []byte, at int64) error {
	if r.ended {
		return fmt.Errorf("write %s: %w", r.name, outfile.ErrClosed)
	}
	r.pollCompleted()
	if next := r.intervals.ends(at); r.file != nil && (next || r.enc.Size()+int64(len(line)) > r.file.limit) && r.file.begun {
		r.close()
	}
	r.open()
	if r.err == nil {
		r.file.note(&r.intervals, at)
		r.file.packets++
		r.file.begun = true
		if err := r.enc.put(line); err != nil {
			r.fail(err)
		}
		return r.tell()
	}
	r.stats.Lost++
	return r.tell()
}

// open begins a file if none is being written.
func (r *Lines) open() {
	if r.file != nil || r.err != nil {
		return
	}
	out, err := outfile.CreateNew(r.name, r.names.next, r.opt.Output)
	if err != nil {
		r.fail(err)
		return
	}
	r.enc = &lineEncoder{out: out, buf: append([]byte(nil), r.header...)}
	r.file = newSegment(out, r.enc, r.opt.Size)
}

// lineBuffer is how many bytes of lines are gathered.
const lineBuffer = 64 << 10

// lineEncoder gathers lines.
type lineEncoder struct {
	out   *outfile.File
	buf   []byte
	lines uint64 // in buf
	// Counts of written data.
	written      uint64
	writtenBytes int64
}

func (e *lineEncoder) put(line []byte) error {
	e.buf = append(e.buf, line...)
	e.lines++
	if len(e.buf) < lineBuffer {
		return nil
	}
	return e.Flush()
}

// Flush implements content.
func (e *lineEncoder) Flush() error {
	if len(e.buf) == 0 {
		return nil
	}
	if _, err := e.out.Write(e.buf); err != nil {
		return err
	}
	e.written, e.writtenBytes = e.written+e.lines, e.Size()
	e.buf, e.lines = e.buf[:0], 0
	return nil
}

// Size implements content.
func (e *lineEncoder) Size() int64 { return e.writtenBytes + int64(len(e.buf)) }

// Written implements content.
func (e *lineEncoder) Written() uint64 { return e.written }

// WrittenBytes implements content.
func (e *lineEncoder) WrittenBytes() int64 { return e.writtenBytes }
