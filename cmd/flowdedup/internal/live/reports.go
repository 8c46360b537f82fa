package live

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"syscall"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/distinct"
)

// reports writes rows of counts as JSON lines. One that cannot be written is told, and
// the next one tried, so that a full disk costs what comes meanwhile and not the run.
type reports struct {
	log    *slog.Logger
	name   string
	out    *os.File
	failed error // the last time
	lost   error // the first time
}

func openReports(name string, log *slog.Logger) (*reports, error) {
	r := &reports{log: log, name: name, out: os.Stdout}
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

// report is a line of the file.
type report struct {
	Kind string `json:"kind"` // "window"
	*distinct.Row
}

// rows writes the counts of a window that closed. The error is that of a reader that
// left.
func (r *reports) rows(rows []distinct.Row) error {
	var lines []byte
	for i := range rows {
		line, err := json.Marshal(report{"window", &rows[i]})
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
	}
	_, err := r.out.Write(lines)
	switch {
	case errors.Is(err, syscall.EPIPE):
		return err
	case err != nil && r.failed == nil:
		r.log.Error("report failed", "output", r.name, "error", err)
		r.lost = errors.Join(ErrOutput, err)
	case err == nil && len(rows) > 0 && rows[0].WindowEnd != nil:
		r.log.Info("window closed", "end", *rows[0].WindowEnd)
	}
	r.failed = err
	return nil
}

// close returns why rows were lost, if any were.
func (r *reports) close() error {
	if r.name == "-" {
		return r.lost
	}
	return errors.Join(r.lost, r.out.Close())
}
