// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"log/slog"
	"path/filepath"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/rotate"
)

// flushEvery is the longest time before the packets of a live run can be read by others.
const flushEvery = time.Second

// single is a file, a pipe or standard output.
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

func (d *single) keep(cut bool) error {
	_ = d.writer.Close() // an error would come from the file
	if cut && !d.live {
		return kept(d.file, d.file.KeepPartial, nil)
	}
	return KeepFile(d.file, nil)
}

// KeepFile ends a file after a failure. reason may be nil if the failure is reported
// elsewhere. The error is a *KeptError if the file did not get its name.
func KeepFile(f *outfile.File, reason error) error { return kept(f, f.Keep, reason) }

// kept ends a file by its method end: see KeepFile.
func kept(f *outfile.File, end func() (string, error), reason error) error {
	name := f.Name()
	kept, err := end()
	if reason == nil {
		reason = err
	}
	if kept == "" || filepath.Clean(kept) == filepath.Clean(name) {
		return reason
	}
	return &KeptError{Name: name, File: kept, Err: reason}
}

func (d *single) discard() error { return d.file.Discard() }
func (d *single) retries() bool  { return false }

func (d *single) counts() outcome {
	return outcome{written: d.writer.Written(), skipped: d.writer.Skipped()}
}

const (
	// rotationRetry is the pause before the next file is begun on a full disk.
	rotationRetry = 5 * time.Second
	// clockLag is how long after its end an interval is closed if no packet ends it: many
	// times the delay of ring blocks.
	clockLag = 2 * time.Second
)

// rotating is a series of files.
type rotating struct {
	*rotate.File
	live  bool
	tried time.Time // when the last retry was
	next  time.Time // of the next flush
}

func (s *Set) openRotation(name string, derived bool) (destination, error) {
	opt := s.cfg.Rotate
	opt.Derived, opt.Inputs = derived, rotate.InputInfos(s.cfg.Inputs)
	opt.Warn = s.warner(name, name)
	opt.Completed = func(file string, packets uint64) {
		s.cfg.Log.Info("file complete", "file", file, "packets", packets)
	}
	r, err := rotate.New(name, opt)
	if err != nil {
		return nil, err
	}
	return &rotating{File: r, live: s.cfg.Live}, nil
}

// Write writes the packets that are not in drop. A live rotation gets every batch and the
// time, even while it cannot write.
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

func (d *rotating) commit() error { return d.Commit() }

func (d *rotating) keep(cut bool) error {
	if cut {
		return d.CutShort()
	}
	return d.Commit()
}

func (d *rotating) discard() error { return d.Discard() }
func (d *rotating) retries() bool  { return d.live }

func (d *rotating) counts() outcome {
	stats := d.Stats()
	return outcome{written: d.Written(), lost: stats.Lost, files: stats.Files, skipped: d.Skipped(), elsewhere: stats.Elsewhere}
}
