package sink

import (
	"log/slog"
	"path/filepath"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/rotate"
)

// flushEvery is how old packets may get that a live run has written and nobody can read.
const flushEvery = time.Second

// single is one file, a pipe or standard output.
type single struct {
	file   *outfile.File
	writer capture.Writer
	live   bool
	next   time.Time // of the next flush
	log    *slog.Logger
}

func (d *single) Write(b *capture.Batch, drop []uint64) error {
	err := d.writer.Write(b, drop)
	if now := time.Now(); err == nil && d.live && !now.Before(d.next) {
		d.next = now.Add(flushEvery)
		err = d.writer.Flush()
	}
	return err
}

func (d *single) commit() error {
	if err := d.writer.Close(); err != nil {
		return KeepFile(d.file, err)
	}
	if err := d.file.Commit(); err != nil {
		return err
	}
	d.log.Info("file complete", "file", d.file.Name(), "packets", d.writer.Written())
	return nil
}

func (d *single) keep() error {
	_ = d.writer.Close() // an error is that of the file
	return KeepFile(d.file, nil)
}

// KeepFile ends a file whose run did not end well, for a reason that is nil where it is
// told elsewhere. The error is a *Kept where the file has not got its name.
func KeepFile(f *outfile.File, reason error) error {
	name := f.Name()
	kept, err := f.Keep()
	if reason == nil {
		reason = err
	}
	if kept == "" || filepath.Clean(kept) == filepath.Clean(name) {
		return reason
	}
	return &Kept{Name: name, File: kept, Err: reason}
}

func (d *single) discard() error { return d.file.Discard() }
func (d *single) retries() bool  { return false }

func (d *single) counts() counts {
	return counts{written: d.writer.Written(), skipped: d.writer.Skipped()}
}

const (
	// rotationRetry is how long a full disk is left alone before another file is begun.
	rotationRetry = 5 * time.Second
	// clockLag is how far behind the clock an interval ends where no packet ends it:
	// many times what the blocks of capture rings may be delayed by.
	clockLag = 2 * time.Second
)

// rotating is one file after another.
type rotating struct {
	*rotate.File
	live  bool
	tried time.Time // when a new file was begun after a failure
	next  time.Time // of the next flush
}

func (s *Set) openRotation(name string) (destination, error) {
	opt := s.cfg.Rotate
	opt.Warn = func(err error) { s.cfg.Log.Warn(name, "error", err) }
	opt.Completed = func(file string, packets uint64) {
		s.cfg.Log.Info("file complete", "file", file, "packets", packets)
	}
	r, err := rotate.New(name, opt)
	if err != nil {
		return nil, err
	}
	return &rotating{File: r, live: s.cfg.Live}, nil
}

// Write writes the packets that are not in drop. A live rotation gets every batch,
// whether it can write it or not, and the time.
func (d *rotating) Write(b *capture.Batch, drop []uint64) error {
	err := d.File.Write(b, drop)
	if !d.live {
		return err
	}
	now := time.Now()
	if err = d.Tick(now.Add(-clockLag)); err == nil && !now.Before(d.next) {
		d.next = now.Add(flushEvery)
		err = d.Flush()
	}
	if err != nil && now.Sub(d.tried) > rotationRetry {
		d.tried = now
		d.Retry()
	}
	return err
}

func (d *rotating) commit() error  { return d.Commit() }
func (d *rotating) keep() error    { return d.Commit() }
func (d *rotating) discard() error { return d.Discard() }
func (d *rotating) retries() bool  { return d.live }

func (d *rotating) counts() counts {
	stats := d.Stats()
	return counts{written: d.Written(), lost: stats.Lost, files: stats.Files, skipped: d.Skipped()}
}
