// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/capture/rotate"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// flushSize is how many bytes of lines are gathered.
const flushSize = 64 << 10

// output is where lines go.
type output struct {
	names  *names
	csv    bool
	merged bool
	buf    []byte // lines that were not written; with a rotation, the last line
	w      io.Writer
	// file is for a run over files, appender for a live run. A rotation replaces both.
	file     *outfile.File
	appender *outfile.Appender
	rotation *rotate.Lines
	safe     *sink.InterruptibleWriter // nil for a rotation
	lag      time.Duration             // of lines behind the clock, for a rotation
	lines    uint64
	failed   bool
}

// isCSV reports whether the name of an output asks for CSV.
func isCSV(name string) bool {
	stem, _ := outfile.SplitName(name)
	for _, one := range []string{name, stem} {
		if filepath.Ext(one) == ".csv" {
			return true
		}
	}
	return false
}

// openOutput opens the output of cfg. Lines of a live run are appended, as other programs read
// them meanwhile.
func openOutput(ctx context.Context, cfg *config, n *names) (*output, error) {
	o := &output{names: n, csv: cfg.CSV || isCSV(cfg.Output), merged: cfg.Policy == merge}
	if cfg.Rotate.Size > 0 || cfg.Rotate.Every > 0 {
		return openRotation(cfg, o)
	}
	var err error
	header := o.csv
	if cfg.live() {
		if info, failed := os.Stat(cfg.Output); failed == nil && info.Size() > 0 {
			header = false
		}
		o.appender, err = outfile.OpenAppend(ctx, cfg.Output)
		o.w = o.appender
	} else {
		o.file, err = outfile.Create(ctx, cfg.Output, outfile.Options{})
		o.w = o.file
	}
	if err != nil {
		return nil, err
	}
	o.safe = sink.NewInterruptibleWriter(ctx, cfg.Output, o.w)
	if header {
		o.buf = csvHeader()
	}
	return o, nil
}

// clockLag is how long after its end an interval is closed if no record ends it, besides the
// time that records wait for their copies.
const clockLag = 2 * time.Second

// openRotation prepares a series of files.
func openRotation(cfg *config, o *output) (_ *output, err error) {
	opt := cfg.Rotate
	opt.Inputs = rotate.InputInfos(cfg.Inputs)
	opt.Warn = func(err error) { cfg.Log.Warn(cfg.Output, "error", err) }
	opt.Completed = func(file string, lines uint64) { cfg.Log.Info("file complete", "file", file, "records", lines) }
	var header []byte
	if o.csv {
		header = csvHeader()
	}
	o.lag = cfg.Window + clockLag
	if o.rotation, err = rotate.NewLines(cfg.Output, header, opt); err != nil {
		return nil, err
	}
	return o, nil
}

// put writes a record that was held.
func (o *output) put(h *match.Held) error {
	o.lines++
	if o.rotation != nil {
		o.buf = o.buf[:0]
	}
	if o.csv {
		o.buf = o.names.appendCSV(o.buf, h)
	} else {
		o.buf = o.names.appendJSON(o.buf, h, o.merged)
	}
	switch {
	case o.rotation != nil:
		return o.outcome(o.rotation.Put(o.buf, cmp.Or(match.Moment(&h.Record), capture.NoTime)))
	case len(o.buf) < flushSize:
		return nil
	}
	return o.flush()
}

// idle writes gathered records while nothing comes, and ends files whose time is over.
func (o *output) idle(now time.Time) error {
	if o.rotation == nil {
		return o.flush()
	}
	return o.outcome(cmp.Or(o.rotation.Tick(now.Add(-o.lag)), o.rotation.Flush()))
}

// flush writes gathered records.
func (o *output) flush() error {
	if len(o.buf) == 0 {
		return nil
	}
	_, err := o.safe.Write(o.buf)
	o.buf = o.buf[:0]
	return o.outcome(err)
}

// outcome wraps an error of the output, and remembers that it was reported.
func (o *output) outcome(err error) error {
	if err == nil {
		return nil
	}
	o.failed = true
	return fmt.Errorf("%w: %w", sink.ErrOutput, err)
}

// close completes the output. After an unclean end an existing file stays as it was. The
// files of a rotation are complete one by one.
func (o *output) close(clean bool) error {
	if o.rotation != nil {
		if err := o.rotation.Commit(); !o.failed {
			return err
		}
		return nil
	}
	err := o.flush()
	_ = o.safe.Close() // never fails
	switch {
	case o.file == nil:
		return err
	case !clean || err != nil:
		if o.lines == 0 {
			return errors.Join(err, o.file.Discard())
		}
		return errors.Join(err, sink.KeepFile(o.file, nil))
	}
	return o.file.Commit()
}

// elsewhere names complete files of a rotation that have no name in their folder, after close.
func (o *output) elsewhere() string {
	if o == nil || o.rotation == nil {
		return ""
	}
	return strings.Join(o.rotation.Stats().Elsewhere, ", ")
}
