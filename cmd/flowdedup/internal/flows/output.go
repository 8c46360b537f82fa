package flows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// flushSize is how many bytes of lines are gathered.
const flushSize = 64 << 10

// output is where lines go.
type output struct {
	names  *names
	csv    bool
	merged bool
	buf    []byte
	w      io.Writer
	// file is that of a run with an end, appender that of one without.
	file     *outfile.File
	appender *outfile.Appender
	safe     *sink.InterruptibleWriter
	lines    uint64
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

// openOutput opens what cfg names. Lines of a live run are appended, as other programs
// read them meanwhile.
func openOutput(ctx context.Context, cfg *Config, n *names) (*output, error) {
	o := &output{names: n, csv: cfg.CSV || isCSV(cfg.Output), merged: cfg.Policy == Merge}
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

// put writes a record that was held.
func (o *output) put(h *match.Held) error {
	o.lines++
	if o.csv {
		o.buf = o.names.appendCSV(o.buf, h)
	} else {
		o.buf = o.names.appendJSON(o.buf, h, o.merged)
	}
	if len(o.buf) < flushSize {
		return nil
	}
	return o.flush()
}

// flush writes what was gathered.
func (o *output) flush() error {
	if len(o.buf) == 0 {
		return nil
	}
	_, err := o.safe.Write(o.buf)
	o.buf = o.buf[:0]
	if err != nil {
		return fmt.Errorf("%w: %w", sink.ErrOutput, err)
	}
	return nil
}

// close completes the output. After an unclean end an existing file stays as it was.
func (o *output) close(clean bool) error {
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
