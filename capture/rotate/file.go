package rotate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// ErrCannotRotate is returned for outputs that are no files that could be several.
var ErrCannotRotate = errors.New("cannot be rotated")

// Options says when a File begins another one.
type Options struct {
	// Size is the most bytes that a file gets, counted before any compression; 0 is
	// no limit. A file that holds a single packet or block may be larger, and none
	// is limited to less than twice the headers that it begins with.
	Size int64
	// Every is the length of intervals of packet time, aligned to 1970 in UTC, whose
	// packets have files of their own; 0 is one interval without end.
	Every time.Duration
	// Keep is how many complete files stay, beside the one being written, and KeepBytes
	// how much they hold: the oldest beyond either are removed, those of earlier runs
	// with names of the same pattern among them, but never the newest. 0 keeps all.
	Keep      int
	KeepBytes int64
	// Merged is what pcapfile.NewWriter has to be told of the Source.
	Merged bool
	// Output is for each file.
	Output outfile.Options
	// Completed is told each file that has its name, and Warn what else went wrong with
	// files that are complete. They may be called from another goroutine; nil tells
	// nobody.
	Completed func(name string, packets uint64)
	Warn      func(error)
}

// Stats counts what a File has done.
type Stats struct {
	Files   uint64 // complete ones, those removed again included
	Packets uint64 // in complete files and in the one being written
	Bytes   uint64 // of these, as files hold them before any compression
	Lost    uint64 // packets of files that failed, and of those that nobody wrote
}

// File is a capture.Writer to one file after another, each of which can be read without the
// others and appears under its name only when it is complete, as an outfile.File does.
//
// Files are those that pcapfile.NewWriter would make of one, cut between packets: one behind
// the other they hold the same packets and blocks, each packet in the same bytes.
// Each begins with the file header, or the section header and all descriptions of
// interfaces, that its packets need. Name resolution and decryption secrets blocks of
// the section are repeated too, up to 1 MiB of them; all other blocks are only where
// they stood. Where the files are cut depends neither on how the stream came in
// batches nor on how fast. Headers after which no packet comes make no file.
//
// A file ends before the packet or block that would take it beyond Size, and before
// the first packet of a later interval. Packets without a time, and packets older than
// the interval, go to the file being written: none goes back.
//
// A false time does not end a file. An interval is an outlier that begins more than a year
// after that being written, or, where Tick tells the time, more than a minute after both, or
// more than a minute before it. One interval takes the place of the year and the minute
// where it is longer. Packets of an outlier go to the file being written, until a
// calendar.Clock believes them: then a new file begins, and rotation goes on from there.
//
// The name of a file is the name given to New with the time of the file's first packet
// of its interval, in UTC: cap.pcapng becomes cap-20261121T220000.000Z.pcapng. Until
// there is a time all its digits are 0, and the times in names go back only with the
// interval. A name that is taken gets a number, as in
// cap-20261121T220000.000Z_002.pcapng: no file is ever replaced.
//
// A file is completed while the next one is written, so that a slow disk does not hold
// up Write; before one more, Write waits for it.
//
// An error ends the file being written, also where the one before could not be
// completed: what it has of packets stays under a name with ".partial" before its
// ending. Complete files stay. Retry begins a new one, so a capture that goes on can
// outlast a full disk:
//
//	err := r.Write(b, drop) // every batch, also while it fails
//	if err != nil && time.Since(tried) > 5*time.Second {
//		tried = time.Now()
//		r.Retry()
//	}
//
// A File is for one goroutine. Either Commit or Discard must be called.
type File struct {
	opt       Options
	name      string
	names     names
	intervals intervals
	splitter  *pcapfile.Splitter // nil until the stream has a section
	file      *segment           // being written; nil until there is something to write
	// closing is the file before, nil once it is complete or has failed.
	closing     *closing
	unremovable map[string]bool // files that could not be removed
	err         error           // of the file that failed, until Retry
	ended       bool

	stats Stats
}

// New checks that files can be made where name says; none is made before
// there is something to write.
//
// Names of standard output, devices, pipes, sockets and folders give an error that
// wraps ErrCannotRotate; what keeps files from being made is a *fs.PathError. It
// panics when an option is negative.
func New(name string, opt Options) (*File, error) {
	if opt.Size < 0 || opt.Every < 0 || opt.Keep < 0 || opt.KeepBytes < 0 {
		panic(fmt.Sprintf("rotate: New: %+v", opt))
	}
	if name == "" {
		return nil, &fs.PathError{Op: "create", Path: name, Err: outfile.ErrEmptyName}
	}
	if info, err := os.Stat(name); outfile.IsStdout(name) || err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file and %w: name a file", name, ErrCannotRotate)
	}
	r := &File{opt: opt, name: name, names: newNames(name, opt.Every), unremovable: map[string]bool{}}
	r.intervals = newIntervals(opt.Every)
	if err := r.probe(); err != nil {
		return nil, err
	}
	return r, nil
}

// probe makes a file and removes it, and asks for a name as long as they get.
func (r *File) probe() error {
	outfile.Sweep(r.name)
	o, err := outfile.CreateNew(r.name, nil, outfile.Options{NoSync: true})
	if err != nil {
		return err
	}
	names := r.names
	names.begin(0)
	names.number++
	_, err = os.Lstat(names.next())
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case errors.As(err, &path):
		err = &fs.PathError{Op: "create", Path: r.name, Err: path.Err}
	}
	return errors.Join(err, o.Discard())
}

// Tick ends the file being written if now is past its interval, as the first packet
// after it would; the next packet then begins a new one. It is for captures that may be
// silent, and has to be called all the time: a clock that is more than a minute past the
// interval, or another interval, is not that of the packets, and ends nothing. Now should
// lag behind the clock by as much as packets take to arrive, for those that come later
// than a Tick past their interval are in the file after it. An error is that of Write.
func (r *File) Tick(now time.Time) error {
	r.pollCompleted()
	if r.intervals.tick(now.UnixNano()) && r.file != nil && r.file.packets > 0 {
		r.close()
	}
	return r.err
}

// Err returns why nothing is written: the error of the file that failed last, or nil.
func (r *File) Err() error { return r.err }

// Retry has Write begin a new file after an error. Without one, or after Commit or
// Discard, it does nothing.
func (r *File) Retry() {
	if !r.ended {
		r.err = nil
	}
}

// Stats returns the counts up to the last call of Write. A file that is still being
// completed counts with its packets and bytes.
func (r *File) Stats() Stats {
	s := r.stats
	if r.closing != nil {
		s.Packets += r.closing.file.packets
		s.Bytes += r.closing.bytes
	}
	if r.file != nil {
		s.Packets += r.file.packets
		s.Bytes += uint64(r.file.enc.Size())
	}
	return s
}

// Skipped returns how many blocks of the stream could not be carried over.
func (r *File) Skipped() uint64 {
	n := uint64(0)
	if r.splitter != nil {
		n = r.splitter.Skipped()
	}
	if r.file != nil {
		n += r.file.enc.Skipped()
	}
	return n
}

// Written returns how many packets are in files for sure: not those that are still
// gathered.
func (r *File) Written() uint64 {
	n := r.stats.Packets
	if r.file != nil {
		n += r.file.enc.Written()
	}
	return n
}

// Flush writes what is gathered of the file being written, so that a disk that is full
// shows.
func (r *File) Flush() error {
	if r.file != nil {
		if err := r.file.enc.Flush(); err != nil {
			r.fail(err)
		}
	}
	return r.err
}

// Close passes on what is still gathered, as that of any Writer, and waits for the file
// before the one being written.
func (r *File) Close() error {
	r.waitCompleted()
	return r.Flush()
}

// Commit completes the file being written. It returns the error that Write returned
// last, unless there was a Retry. Further calls return the same result.
func (r *File) Commit() error {
	if r.file != nil {
		r.close()
	}
	r.waitCompleted()
	r.ended = true
	return r.err
}

// Discard removes what was written of the file that is not complete. After Commit or
// Discard it does nothing and returns nil.
func (r *File) Discard() error {
	if r.ended {
		return nil
	}
	r.waitCompleted()
	r.ended = true
	if r.err == nil {
		r.err = fmt.Errorf("commit %s: %w", r.name, outfile.ErrClosed)
	}
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	r.stats.Lost += f.packets
	return f.out.Discard()
}
