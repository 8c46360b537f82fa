// SPDX-License-Identifier: Apache-2.0

package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"syscall"
	"time"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// reports appends rows of counts to a file as JSON lines. If a row cannot be written,
// reports logs the error and tries the next row, so a full disk costs rows but not the
// run. A reader that leaves its pipe ends the run.
type reports struct {
	log    *slog.Logger
	stop   func() // ends the capture
	name   string
	loc    *time.Location
	file   *outfile.Appender
	out    *sink.InterruptibleWriter // to file
	failed error                     // the last time
	lost   error                     // the first time
	closed closings
}

// closings prints which windows have closed: mostClosings lines a minute, then the number of the
// others. Times of packets close windows, so the senders of packets choose how many there are.
type closings struct {
	until        time.Time // the end of the minute
	said, unsaid int
}

const mostClosings = 20

// say calls log with the number of earlier windows that were not logged, unless this minute has
// mostClosings lines already.
func (c *closings) say(now time.Time, log func(unsaid int)) {
	if now.After(c.until) {
		c.until, c.said = now.Add(time.Minute), 0
	}
	if c.said == mostClosings {
		c.unsaid++
		return
	}
	c.said++
	log(c.unsaid)
	c.unsaid = 0
}

func openReports(ctx context.Context, name string, loc *time.Location, log *slog.Logger, stop func()) (*reports, error) {
	file, err := outfile.OpenAppend(ctx, name)
	if err != nil {
		return nil, err
	}
	return &reports{log: log, stop: stop, name: name, loc: loc, file: file, out: sink.NewInterruptibleWriter(ctx, name, file)}, nil
}

// saver saves the counters of closed windows in a folder. If a window cannot be saved, saver
// logs the error and tries the next window, as reports does.
type saver struct {
	log    *slog.Logger
	folder *count.SavedFolder
	lost   error // the first time
}

// save saves a window. It is called in the background, for one window at a time.
func (s *saver) save(window countfile.Span, all []windows.SavedSeries) error {
	if err := s.folder.Add(window, all); err != nil {
		s.log.Error("counters were not saved", "error", err)
		if s.lost == nil {
			s.lost = fmt.Errorf("%w: %w", sink.ErrOutput, err)
		}
	}
	return nil
}

// close returns why counters were not saved, if any were not, once none are being saved.
func (s *saver) close() error {
	if s == nil {
		return nil
	}
	return s.lost
}

// pastReport is the line of the span before a moment.
type pastReport struct {
	count.Head        // of kind "sliding"
	Distinct   uint64 `json:"distinct"`
	Low        uint64 `json:"low"`
	High       uint64 `json:"high"`
}

// rows writes the counts of a closed window.
func (r *reports) rows(rows []count.Row) error {
	var text bytes.Buffer
	if err := count.NewLines(&text, "live").Rows(rows); err != nil {
		return err
	}
	if err := r.write(text.Bytes()); err != nil || r.failed != nil {
		return err
	}
	if len(rows) > 0 && rows[0].WindowEnd != nil {
		r.closed.say(time.Now(), func(unsaid int) {
			args := []any{"end", *rows[0].WindowEnd}
			if unsaid > 0 {
				args = append(args, "unsaid", unsaid)
			}
			r.log.Info("window closed", args...)
		})
	}
	return nil
}

// sayNone says that there are no rows yet, and until when.
func (r *reports) sayNone(windows calendar.Calendar) {
	_, end := windows.Window(time.Now().UnixNano())
	if end == math.MaxInt64 {
		r.log.Info("no window has closed yet: the only one closes as the run ends")
		return
	}
	r.log.Info("no window has closed yet", "end", *show.Timestamp(end, r.loc))
}

// past writes the counts of the span before now.
func (r *reports) past(now time.Time, span time.Duration, counts []windows.Count) error {
	from, to := show.Timestamp(now.Add(-span).UnixNano(), r.loc), show.Timestamp(now.UnixNano(), r.loc)
	var text bytes.Buffer
	lines := count.NewLines(&text, "live")
	for i := range counts {
		c := &counts[i]
		if err := lines.Encode(pastReport{count.Head{Heading: lines.Heading, Kind: "sliding", Counted: count.Counted{WindowStart: from, WindowEnd: to, Of: c.Key, Family: c.Family}}, c.Distinct, c.Low, c.High}); err != nil {
			return err
		}
	}
	return r.write(text.Bytes())
}

// write appends lines in one call.
func (r *reports) write(lines []byte) error {
	_, err := r.out.Write(lines)
	switch {
	case err != nil && r.failed == nil:
		if r.lost == nil {
			r.lost = fmt.Errorf("%w: %w", sink.ErrOutput, err)
		}
		if errors.Is(err, syscall.EPIPE) {
			r.stop()
		} else {
			r.log.Error("report failed", "output", r.name, "error", err)
		}
	case err == nil && r.failed != nil:
		r.log.Info("reports are written again", "output", r.name)
	}
	r.failed = err
	return nil
}

// close returns why rows were lost, if any were.
func (r *reports) close() error {
	err := r.out.Close()
	if !errors.Is(r.failed, sink.ErrBlocked) {
		err = errors.Join(err, r.file.Close())
	}
	return errors.Join(r.lost, err)
}
