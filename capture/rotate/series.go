// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/flowdedup/flowdedup/capture/outfile"
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
	// interval has files of its own. 0 is a single interval without end.
	Every time.Duration
	// Keep is how many complete files stay, in addition to the file being written, and
	// KeepBytes how many bytes they hold. The oldest files beyond either are removed, also
	// files of earlier runs with the same output, but never the newest. 0 keeps all. Other
	// files stay, whatever their names: see outfile.Series.
	Keep      int
	KeepBytes int64
	// Inputs are files that are never removed.
	Inputs []fs.FileInfo
	// Merged, Derived and Commented are as in pcapfile.WriterOptions.
	Merged, Derived, Commented bool
	// Output is for each file.
	Output outfile.Options
	// Completed gets the name of each complete file, and Warn the problems with files that
	// are complete. They may be called on any goroutine. Both may be nil.
	Completed func(name string, packets uint64)
	Warn      func(error)
}

// Stats counts the files and packets of a File.
type Stats struct {
	Files   uint64 // complete files, including removed files
	Packets uint64 // in complete files and in the file being written
	Bytes   uint64 // of these files, before any compression
	Lost    uint64 // packets of files that failed, and packets that were not written
	// Elsewhere are copies of files that the folder has taken no name for yet.
	Elsewhere []string
}

// series is a series of files, whatever they hold.
type series struct {
	opt       Options
	name      string
	names     names
	intervals intervals
	file      *segment // being written; nil until there is something to write
	// closing is the file before, nil once it is complete or has failed.
	closing     *closing
	made        *outfile.Series // nil once the series has ended
	unremovable map[string]bool // files that could not be removed
	saidOthers  bool            // that other files fit the name
	saidRecord  bool            // that files are not recorded
	unnamed     error           // err, where only a name is missing: unless packets were lost since lostThen
	told        bool            // err was returned by a write: its caller may have ended for it
	lostThen    uint64          // stats.Lost when unnamed came
	homeless    []*segment      // complete, or as complete as they get, without a name in the folder
	err         error           // of the file that failed, until Retry
	ended       bool
	cut         bool // the file being written ends before the stream does

	stats Stats
}

// newSeries checks that files can be made; see New.
func newSeries(name string, opt Options) (*series, error) {
	if opt.Size < 0 || opt.Every < 0 || opt.Keep < 0 || opt.KeepBytes < 0 {
		return nil, fmt.Errorf("%s %w: at %d bytes, every %v, the last %d, %d bytes of them", name, ErrCannotRotate, opt.Size, opt.Every, opt.Keep, opt.KeepBytes)
	}
	if name == "" {
		return nil, &fs.PathError{Op: "create", Path: name, Err: outfile.ErrEmptyName}
	}
	if info, err := os.Stat(name); outfile.IsStdout(name) || err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file and %w: name a file", name, ErrCannotRotate)
	}
	r := &series{opt: opt, name: name, names: newNames(name, opt.Every), intervals: newIntervals(opt.Every), unremovable: map[string]bool{}}
	if err := r.names.checkTemplate(); err != nil {
		return nil, err
	}
	if err := r.probe(); err != nil {
		return nil, err
	}
	var err error
	if r.made, err = outfile.OpenSeries(name, r.names.pattern()); err != nil {
		return nil, err
	}
	r.made.NoSync = opt.Output.NoSync
	r.opt.Output.Series = r.made
	return r, nil
}

// probe makes a file and removes it, and tests whether the longest name is too long.
func (r *series) probe() error {
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

// Tick ends the file being written if now is past its interval, as a packet of now would. The
// next packet then begins a new file. It is for captures that may be silent. The caller must
// call it all the time: a clock that is more than a minute and an interval past the interval
// is not the clock of the packets, and ends nothing. Now should lag behind the clock by the
// delay of packets: a packet that comes after the Tick past its interval is in the next file.
// Errors come from Write.
func (r *series) Tick(now time.Time) error {
	r.pollCompleted()
	if r.intervals.tick(now.UnixNano()) && r.file != nil && r.file.packets > 0 {
		r.close()
	}
	return r.tell()
}

// tell returns the error, if any, to who writes.
func (r *series) tell() error {
	r.told = r.told || r.err != nil
	return r.err
}

// Retry clears an error, so that Write begins a new file. Without an error, or after Commit
// or Discard, it does nothing.
//
// Retry also gives files their names that the folder took none for.
func (r *series) Retry() {
	if r.ended {
		return
	}
	r.err, r.told = nil, false
	if r.closing == nil { // the goroutine that completes a file owns the series
		r.bringHome()
	}
}

// Stats returns the counts up to the last call of Write. A file that is still being
// completed counts with its packets and bytes.
func (r *series) Stats() Stats {
	s := r.stats
	for _, f := range r.homeless {
		if away, _ := f.out.Homeless(); away != "" {
			s.Elsewhere = append(s.Elsewhere, away)
		}
	}
	if r.closing != nil {
		s.Packets += r.closing.file.packets
		s.Bytes += r.closing.bytes
	}
	if r.file != nil {
		s.Packets += r.file.packets
		s.Bytes += uint64(r.file.content.Size())
	}
	return s
}

// Written returns how many packets are in files, without the packets that are still gathered.
func (r *series) Written() uint64 {
	n := r.stats.Packets
	if r.file != nil {
		n += r.file.content.Written()
	}
	return n
}

// Flush writes gathered data for the file being written. A full disk shows as an error.
func (r *series) Flush() error {
	if r.file != nil {
		if err := r.file.content.Flush(); err != nil {
			r.fail(err)
		}
	}
	return r.tell()
}

// Close writes gathered data, as any Writer does, and waits until the file before is complete.
func (r *series) Close() error {
	r.waitCompleted()
	return r.Flush()
}

// Commit completes the file being written. It returns the last error of Write, or nil after
// Retry. Further calls return the same result.
func (r *series) Commit() error {
	if r.file != nil {
		r.close()
	}
	r.waitCompleted()
	r.end()
	return r.err
}

// end is called when nothing more is written.
func (r *series) end() {
	if r.ended {
		return
	}
	r.ended = true
	r.bringHome()
	r.err = errors.Join(r.err, r.forsake(), r.made.Close())
}

// CutShort is Commit where the stream goes on: the file being written gets a partial name.
func (r *series) CutShort() error {
	r.waitCompleted()
	r.cut = true
	return r.Commit()
}

// Discard removes the file that is not complete. After Commit or Discard it does nothing and
// returns nil.
func (r *series) Discard() error {
	if r.ended {
		return nil
	}
	r.waitCompleted()
	r.end()
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
