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

// ErrCannotRotate says that the output is not a regular file.
var ErrCannotRotate = errors.New("cannot be rotated")

// Options says when a File begins a new file.
type Options struct {
	// Size is the most bytes of a file before any compression; 0 is no limit. A file with
	// a single packet or block may be larger. The limit is at least twice the headers at
	// the start of a file.
	Size int64
	// Every is the length of intervals of packet time, aligned to 1970 in UTC. Each
	// interval has files of its own. 0 is one interval without end.
	Every time.Duration
	// Keep is how many complete files stay, beside the one being written, and KeepBytes
	// how many bytes they hold. The oldest files beyond either are removed, also those of
	// earlier runs with names of the same pattern, but never the newest. 0 keeps all.
	Keep      int
	KeepBytes int64
	// Merged, Derived and Commented are as in pcapfile.WriterOptions.
	Merged, Derived, Commented bool
	// Output is for each file.
	Output outfile.Options
	// Completed gets the name of each complete file, and Warn the problems with files that
	// are complete. They may be called from another goroutine. Both may be nil.
	Completed func(name string, packets uint64)
	Warn      func(error)
}

// Stats counts what a File has done.
type Stats struct {
	Files   uint64 // complete ones, also those that were removed since
	Packets uint64 // in complete files and in the one being written
	Bytes   uint64 // of these files, before any compression
	Lost    uint64 // packets of files that failed, and packets that were not written
}

// File is a capture.Writer to a series of files. Each can be read without the others, and
// appears under its name only when it is complete: see outfile.File.
//
// The files are the output of pcapfile.NewWriter, cut between packets. In order they hold
// the same packets and blocks, each packet in the same bytes. Each file begins with the file
// header, or with the section header and the descriptions of interfaces that its packets
// need. It repeats name resolution and decryption secrets blocks of the section, up to
// 1 MiB of them. All other blocks are only where they were. The cuts depend neither on the
// batches of the stream nor on its speed. Headers without packets make no file.
//
// A file ends before the packet or block that would take it beyond Size, and before the
// first packet of a later interval. Packets without a time, and packets from before the
// interval, go to the file being written.
//
// A false time does not end a file. An interval is an outlier if it begins more than a
// minute before the one being written, or more than a year after it. If Tick tells the wall
// clock, that year is a minute, after both the interval and the clock. An interval longer
// than the minute or the year takes its place. Packets of an outlier go to the file being
// written, until a calendar.Clock accepts their time. Then a new file begins, and rotation
// goes on from there.
//
// The name of a file is the name given to New with the time of the file's first packet in
// its interval, in UTC: cap.pcapng becomes cap-20261121T220000.000Z.pcapng. Before the first
// time, all digits are 0. Times in names go back only with the interval. A name that is
// taken gets a number, as in cap-20261121T220000.000Z_002.pcapng: no file is replaced.
//
// A file is completed while the next one is written, so a slow disk does not delay Write.
// Before a third file, Write waits for it.
//
// An error ends the file being written, even an error of the file before. Its packets stay
// under a name with ".partial" before its ending. Complete files stay. After Retry, Write
// begins a new file. So a capture can outlast a full disk:
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

// New checks that files can be made in the folder of name. It makes none: the first file
// begins with the first packet or block.
//
// For standard output, devices, pipes, sockets and folders the error wraps
// ErrCannotRotate. Other errors are an *fs.PathError. New panics if an option is negative.
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

// probe makes a file and removes it, and tests whether the longest name is too long.
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

// Tick ends the file being written if now is past its interval, as a packet of now would.
// The next packet then begins a new file. It is for captures that may be silent. The caller
// must call it all the time: a clock that is more than a minute and an interval past the
// interval is not the clock of the packets, and ends nothing. Now should lag behind the
// clock by the delay of packets: a packet that comes after the Tick past its interval is in
// the next file. Errors are those of Write.
func (r *File) Tick(now time.Time) error {
	r.pollCompleted()
	if r.intervals.tick(now.UnixNano()) && r.file != nil && r.file.packets > 0 {
		r.close()
	}
	return r.err
}

// Retry clears an error, so that Write begins a new file. Without an error, or after Commit
// or Discard, it does nothing.
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

// Skipped returns how many blocks of the stream could not be converted.
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

// Written returns how many packets are in files, without those that are still gathered.
func (r *File) Written() uint64 {
	n := r.stats.Packets
	if r.file != nil {
		n += r.file.enc.Written()
	}
	return n
}

// Flush writes what was gathered for the file being written. A full disk shows as an error.
func (r *File) Flush() error {
	if r.file != nil {
		if err := r.file.enc.Flush(); err != nil {
			r.fail(err)
		}
	}
	return r.err
}

// Close writes what was gathered, as any Writer does, and waits until the file before is
// complete.
func (r *File) Close() error {
	r.waitCompleted()
	return r.Flush()
}

// Commit completes the file being written. It returns the last error of Write, or nil after
// Retry. Further calls return the same result.
func (r *File) Commit() error {
	if r.file != nil {
		r.close()
	}
	r.waitCompleted()
	r.ended = true
	return r.err
}

// Discard removes the file that is not complete. After Commit or Discard it does nothing and
// returns nil.
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
