package rotate

import (
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// segment is one of the files: that which is written, or that which is completed.
type segment struct {
	out     *outfile.File
	enc     *pcapfile.Encoder // to out
	limit   int64             // bytes that it may have
	first   int64             // time of its first packet of the interval, or NoTime
	begun   bool              // it holds more than its headers
	packets uint64            // in it
}

// note takes in the time of a packet, if it is the first of the interval.
func (f *segment) note(c *intervals, t int64) {
	if f.first == capture.NoTime && c.contains(t) {
		f.first = t
	}
}

// open begins a file for packets or blocks of b if none is being written, and reports
// whether one is.
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
	r.file = &segment{out: out, enc: enc, first: capture.NoTime, limit: math.MaxInt64}
	if err != nil {
		r.fail(err)
		return false
	}
	if r.opt.Size > 0 {
		r.file.limit = max(r.opt.Size, 2*enc.Size())
	}
	return true
}

// write puts a part of a batch into the file being written.
func (r *File) write(b *capture.Batch, drop []uint64, p pcapfile.Part) {
	f := r.file
	n := capture.CountKept(drop, p.From, p.To)
	if err := f.enc.Encode(b, drop, p); err != nil {
		r.stats.Lost += n
		r.fail(err)
		return
	}
	f.packets += n
	f.begun = f.begun || n > 0 || p.FromBlock < p.ToBlock
}

// close has the file being written completed while the next one is written: the disk
// may take long, and packets of an interface do not wait.
func (r *File) close() {
	r.waitCompleted()
	f := r.file
	if f == nil { // the one before has failed
		return
	}
	r.file = nil
	r.splitter.End(f.enc)
	r.closing = &closing{file: f, bytes: uint64(f.enc.Size()), result: make(chan error, 1)}
	r.names.begin(f.first)
	go r.complete(r.closing)
}

// closing is a file that is being completed.
type closing struct {
	file   *segment
	bytes  uint64
	result chan error // why the file is not there
}

// complete gives a file its name, and removes what is more than is kept. Until it has
// sent its result, names belong to it. A file of headers alone is none.
func (r *File) complete(c *closing) {
	f := c.file
	if f.packets == 0 {
		c.result <- f.out.Discard()
		return
	}
	err := f.enc.Flush()
	if err == nil {
		err = f.out.Commit()
	}
	if err == nil {
		if r.opt.Completed != nil {
			r.opt.Completed(f.out.Name(), f.packets)
		}
		r.prune()
	}
	c.result <- err
}

// waitCompleted waits until no file is being completed any more.
func (r *File) waitCompleted() {
	if r.closing != nil {
		r.recordCompleted(<-r.closing.result)
	}
}

// pollCompleted is settle without the wait.
func (r *File) pollCompleted() {
	if r.closing == nil {
		return
	}
	select {
	case c := <-r.closing.result:
		r.recordCompleted(c)
	default:
	}
}

// recordCompleted puts a file that was completed, or not, into the books.
func (r *File) recordCompleted(err error) {
	f, bytes := r.closing.file, r.closing.bytes
	r.closing = nil
	if err != nil {
		r.keepPartial(f)
		r.fail(err)
		return
	}
	if f.packets == 0 {
		return
	}
	r.stats.Files++
	r.stats.Packets += f.packets
	r.stats.Bytes += bytes
}

// keepPartial keeps what a file that failed has of packets.
func (r *File) keepPartial(f *segment) error {
	packets := f.enc.Written()
	r.stats.Packets += packets
	r.stats.Lost += f.packets - packets
	if packets == 0 {
		return f.out.Discard()
	}
	r.stats.Bytes += uint64(f.enc.WrittenBytes())
	_, err := f.out.Keep()
	return err
}

// fail gives up the file being written. What fails after that is not told.
func (r *File) fail(err error) {
	if f := r.file; f != nil {
		r.file = nil
		_ = r.keepPartial(f) // the error that counts is the one before
	}
	if r.err == nil {
		r.err = err
	}
}
