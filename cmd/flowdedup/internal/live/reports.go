package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/distinct"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/stamp"
)

// reports writes rows of counts as JSON lines. One that cannot be written is told, and
// the next one tried, so that a full disk costs what comes meanwhile and not the run. A
// reader that leaves its pipe ends the run.
type reports struct {
	log    *slog.Logger
	stop   func() // ends the capture
	name   string
	loc    *time.Location
	out    *os.File
	failed error // the last time
	lost   error // the first time
}

func openReports(name string, loc *time.Location, log *slog.Logger, stop func()) (*reports, error) {
	r := &reports{log: log, stop: stop, name: name, loc: loc, out: os.Stdout}
	if name == "-" {
		return r, nil
	}
	out, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	r.out = out
	return r, nil
}

// report is a line of the file for a window that closed.
type report struct {
	Kind string `json:"kind"` // "window"
	*distinct.Row
}

// pastReport is a line of the file for the span before a moment.
type pastReport struct {
	Kind        string  `json:"kind"` // "sliding"
	WindowStart *string `json:"window_start"`
	WindowEnd   *string `json:"window_end"`
	Of          string  `json:"of"`
	Family      string  `json:"family"`
	Distinct    uint64  `json:"distinct"`
	Low         uint64  `json:"low"`
	High        uint64  `json:"high"`
}

// rows writes the counts of a window that closed.
func (r *reports) rows(rows []distinct.Row) error {
	lines := make([]any, len(rows))
	for i := range rows {
		lines[i] = report{"window", &rows[i]}
	}
	if err := r.write(lines); err != nil || r.failed != nil {
		return err
	}
	if len(rows) > 0 && rows[0].WindowEnd != nil {
		r.log.Info("window closed", "end", *rows[0].WindowEnd)
	}
	return nil
}

// past writes the counts of the span before now.
func (r *reports) past(now time.Time, span time.Duration, counts []distinct.Count) error {
	from, to := stamp.Format(now.Add(-span).UnixNano(), r.loc), stamp.Format(now.UnixNano(), r.loc)
	lines := make([]any, len(counts))
	for i := range counts {
		c := &counts[i]
		lines[i] = pastReport{"sliding", from, to, c.Of, c.Family, c.Distinct, c.Low, c.High}
	}
	return r.write(lines)
}

// write appends lines, all at once.
func (r *reports) write(lines []any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	for _, line := range lines {
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	n, err := r.out.Write(text.Bytes())
	if err != nil {
		r.cut(n)
	}
	if err != nil && r.failed == nil {
		r.lost = fmt.Errorf("%w: %w", ErrOutput, err)
		if errors.Is(err, syscall.EPIPE) {
			r.stop()
		} else {
			r.log.Error("report failed", "output", r.name, "error", err)
		}
	}
	r.failed = err
	return nil
}

// cut takes back the last n bytes of the file, which may end within a line: the next one
// would go on there.
func (r *reports) cut(n int) {
	if info, err := r.out.Stat(); err == nil && info.Mode().IsRegular() && r.name != "-" {
		_ = r.out.Truncate(info.Size() - int64(n)) // what fails has been told
	}
}

// close returns why rows were lost, if any were.
func (r *reports) close() error {
	if r.name == "-" {
		return r.lost
	}
	return errors.Join(r.lost, r.out.Close())
}
