// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"math"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

// segment is a file being written or completed.
type segment struct {
	out     *outfile.File
	content content // of out
	over    func()  // called when nothing more is written; may be nil
	limit   int64   // bytes that it may have
	first   int64   // time of its first packet of the interval, or NoTime
	begun   bool    // it holds more than its headers
	packets uint64  // in it
	names   names   // of a file without a name in the folder
	whole   bool    // such a file is complete
}

// newSegment returns a file that has its headers, and may have size bytes: 0 for any number.
func newSegment(out *outfile.File, headers content, size int64) *segment {
	s := &segment{out: out, content: headers, first: capture.NoTime, limit: math.MaxInt64}
	if size > 0 {
		s.limit = max(size, 2*headers.Size())
	}
	return s
}

// content holds the gathered bytes of a file.
type content interface {
	Flush() error        // writes gathered data
	Size() int64         // bytes so far
	Written() uint64     // packets that are in the file
	WrittenBytes() int64 // of these and the headers
}

// note keeps the time of a packet, if it is the first of the interval.
func (f *segment) note(c *intervals, t int64) {
	if f.first == capture.NoTime && c.contains(t) {
		f.first = t
	}
}

// close completes the file being written on a goroutine: the disk may take long, and
// packets of an interface do not wait.
func (r *series) close() {
	r.waitCompleted()
	f := r.file
	if f == nil { // the file before has failed
		return
	}
	r.file = nil
	if f.over != nil {
		f.over()
	}
	r.closing = &closing{file: f, bytes: uint64(f.content.Size()), result: make(chan error, 1)}
	r.names.begin(f.first)
	go r.complete(r.closing)
}

// closing is a file that is being completed.
type closing struct {
	file   *segment
	bytes  uint64
	result chan error // why the file is not there
}

// complete gives a file its name, and removes files beyond those to keep. It owns names until
// it has sent its result. It discards a file that has only headers.
func (r *series) complete(c *closing) {
	f := c.file
	if f.packets == 0 {
		c.result <- f.out.Discard()
		return
	}
	err := f.content.Flush()
	if err == nil && r.cut {
		_, err = f.out.KeepPartial()
		c.result <- err
		return
	}
	if err == nil {
		err = f.out.Commit()
	}
	if err == nil {
		r.completed(f)
	}
	c.result <- err
}

// completed reports a complete file, and removes files beyond those to keep.
func (r *series) completed(f *segment) {
	if r.opt.Completed != nil {
		r.opt.Completed(f.out.Name(), f.packets)
	}
	r.made.Settle(f.out.Name())
	if err := r.made.Err(); err != nil && !r.saidRecord {
		r.saidRecord = true
		r.warn(err)
	}
	r.prune()
}

// waitCompleted waits until no file is being completed.
func (r *series) waitCompleted() {
	if r.closing != nil {
		r.recordCompleted(<-r.closing.result)
	}
}

// pollCompleted is waitCompleted without the wait.
func (r *series) pollCompleted() {
	if r.closing == nil {
		return
	}
	select {
	case c := <-r.closing.result:
		r.recordCompleted(c)
	default:
	}
}

// recordCompleted counts a file whose completion has ended, or handles its error.
func (r *series) recordCompleted(err error) {
	f, bytes := r.closing.file, r.closing.bytes
	r.closing = nil
	if err != nil {
		f.whole = !r.cut
		r.keepPartial(f)
		_, homeless := f.out.Homeless()
		if homeless {
			err = reason(err)
		}
		if r.fail(err); homeless && r.err == err {
			r.unnamed, r.lostThen = err, r.stats.Lost
		}
		return
	}
	if f.packets == 0 {
		return
	}
	r.stats.Files++
	r.stats.Packets += f.packets
	r.stats.Bytes += bytes
}

// keepPartial keeps the packets of a file that failed. A file that only got no name in the folder
// counts as being there until the end.
func (r *series) keepPartial(f *segment) {
	packets := f.content.Written()
	if packets == 0 {
		_ = f.out.Discard() // the earlier error counts
	} else if _, err := f.out.Keep(); r.isHomeless(f, err) || !f.out.Lost() {
		r.stats.Bytes += uint64(f.content.WrittenBytes())
	} else {
		packets = 0
	}
	r.stats.Packets += packets
	r.stats.Lost += f.packets - packets
}

// fail ends the file being written. Later errors of it are dropped. The error may come from the
// file before, if its completion has failed meanwhile.
func (r *series) fail(err error) {
	if f := r.file; f != nil {
		r.file = nil
		r.waitCompleted() // the goroutine that completes a file owns the names
		r.names.begin(f.first)
		r.keepPartial(f)
	}
	if r.err == nil {
		r.err = err
	}
}
