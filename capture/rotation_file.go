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
	first   int64  // time of its first packet of the interval, or NoTime
	begun   bool   // it holds more than its headers
	packets uint64 // in it
	ignored uint64 // blocks skipped among the headers, which were counted before
}

// buf is where the encoder writes to.
func (f *rotatedFile) buf() *outBuffer { return f.out.buf }

// len returns how many bytes were written, before any compression.
func (f *rotatedFile) len() int64 { return f.out.buf.passed + int64(len(f.out.buf.buf)) }

func (f *rotatedFile) skippedBlocks() uint64 { return f.enc.skippedBlocks() - f.ignored }

// note takes in the time of a packet, if it is the first of the interval.
func (f *rotatedFile) note(c *rotationClock, t int64) {
	if f.first == NoTime && c.holds(t) {
		f.first = t
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
}

// close has the file being written completed while the next one is written: the disk
// may take long, and packets of an interface do not wait.
func (r *Rotation) close() {
	r.settle()
	f := r.file
	if f == nil { // the one before has failed
		return
	}
	r.file = nil
	r.skipped += f.skippedBlocks()
	if s, ok := f.enc.(*sectionWriter); ok {
		r.last = s.last
	}
	r.closing = &closing{packets: f.packets, bytes: uint64(f.len()), result: make(chan closed, 1)}
	r.names.begin(f.first)
	go r.complete(f.out, r.closing.result)
}

// closing is a file that is being completed.
type closing struct {
	packets, bytes uint64
	result         chan closed
}

// closed is how that went: why the file is not there, and why older ones are.
type closed struct{ lost, kept error }

// complete gives a file its name, and removes what is more than is kept. Until it has
// sent its result, names and done belong to it.
func (r *Rotation) complete(out *Output, result chan<- closed) {
	var c closed
	if c.lost = out.Commit(); c.lost == nil {
		c.kept = r.prune(out.final)
	}
	result <- c
}

// prune takes in a complete file, and removes the oldest beyond those that are kept.
// Somebody else may have taken them away.
func (r *Rotation) prune(name string) error {
	if r.opt.Keep == 0 {
		return nil
	}
	r.done = append(r.done, name)
	for len(r.done) > r.opt.Keep {
		if err := os.Remove(r.done[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		r.done = slices.Delete(r.done, 0, 1)
	}
	return nil
}

// settle waits until no file is being completed any more.
func (r *Rotation) settle() {
	if r.closing != nil {
		r.enter(<-r.closing.result)
	}
}

// poll is settle without the wait.
func (r *Rotation) poll() {
	if r.closing == nil {
		return
	}
	select {
	case c := <-r.closing.result:
		r.enter(c)
	default:
	}
}

// enter puts a file that was completed, or not, into the books.
func (r *Rotation) enter(c closed) {
	f := r.closing
	r.closing = nil
	if c.lost != nil {
		r.stats.Lost += f.packets
		r.fail(c.lost)
		return
	}
	r.stats.Files++
	r.stats.Packets += f.packets
	r.stats.Bytes += f.bytes
	if c.kept != nil {
		r.fail(c.kept)
	}
}

// fail gives up the file being written. What fails after that is not told.
func (r *Rotation) fail(err error) {
	f := r.file
	if f != nil {
		r.file = nil
		r.stats.Lost += f.packets
		err = errors.Join(err, f.out.Abort())
	}
	if r.err == nil {
		r.err = err
	}
}
