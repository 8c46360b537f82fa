// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// Lines returns a handler of plain lines: the time in UTC, the level unless it is
// Info, the message, and key=value for each attribute. Each is one Write to w.
func Lines(w io.Writer) slog.Handler { return newLineHandler(w, slog.LevelInfo) }

// Errors is Lines with records of level Error and above only.
func Errors(w io.Writer) slog.Handler { return newLineHandler(w, slog.LevelError) }

func newLineHandler(w io.Writer, least slog.Level) slog.Handler {
	h := &lineHandler{out: w, least: least, mu: new(sync.Mutex), line: new(bytes.Buffer)}
	h.attrs = slog.NewTextHandler(h.line, &slog.HandlerOptions{ReplaceAttr: withoutHead})
	return h
}

// lineHandler writes the head of a line itself and leaves the attributes to slog.
// A handler and those derived from it share everything but attrs.
type lineHandler struct {
	out   io.Writer
	least slog.Level
	mu    *sync.Mutex // for line
	line  *bytes.Buffer
	attrs slog.Handler // writes into line
}

// withoutHead drops the attributes that lineHandler.Handle has already written.
func withoutHead(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

// Enabled reports whether a level is at least the handler's.
func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.least }

// Handle writes one line.
func (h *lineHandler) Handle(ctx context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.line.Reset()
	h.line.WriteString(r.Time.UTC().Format(time.RFC3339))
	h.line.WriteByte(' ')
	if r.Level != slog.LevelInfo {
		h.line.WriteString(r.Level.String() + " ")
	}
	if r.Message != "" {
		h.line.WriteString(show.Printable(r.Message) + " ")
	}
	if err := h.attrs.Handle(ctx, r); err != nil {
		return err
	}
	_, err := h.out.Write(append(bytes.TrimRight(h.line.Bytes(), " \n"), '\n'))
	return err
}

// WithAttrs returns a handler whose lines have more attributes.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *h
	more.attrs = h.attrs.WithAttrs(attrs)
	return &more
}

// WithGroup returns a handler whose attributes are named after a group.
func (h *lineHandler) WithGroup(name string) slog.Handler {
	more := *h
	more.attrs = h.attrs.WithGroup(name)
	return &more
}

// statusLog writes a line about the run per interval and at the end. Its rates are the rates
// since the previous line.
type statusLog struct {
	every  time.Duration
	handle slog.Handler
	last   *Status // of the previous line, or the first status; nil before
}

// writer makes an io.Writer of a function.
type writer func([]byte)

// Write hands p on.
func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// tolerance is how early a line may come. Statuses come about once a second, never
// exactly.
const tolerance = 500 * time.Millisecond

// update takes the next status.
func (l *statusLog) update(s *Status) {
	if l.last == nil {
		l.last = s
	}
	if s.Now.Sub(l.last.Now) < l.every-tolerance && !s.Stopping {
		return
	}
	ctx := context.Background()
	if !l.handle.Enabled(ctx, slog.LevelInfo) {
		return
	}
	r, _ := rateOf(l.last, s)
	_, dropped := atRings(s)
	line := slog.NewRecord(s.Now, slog.LevelInfo, "", 0)
	line.AddAttrs(
		slog.Uint64("packets", s.PacketsIn),
		slog.Float64("pps", math.Round(r.packets)),
		slog.Float64("bps", math.Round(r.bits)),
		slog.Uint64("dup", s.Duplicates),
		slog.Float64("share", share(s.Duplicates, s.PacketsIn)),
		slog.Uint64("drops", dropped),
		slog.Float64("fill", rounded(s.Fill)),
		slog.Uint64("evicted_live", s.EvictedLive),
	)
	if s.HubDelay != nil {
		line.AddAttrs(slog.Uint64("hub_dup", *s.HubCopies), slog.Uint64("unchecked", *s.Unchecked))
	}
	_ = l.handle.Handle(ctx, line) // it only queues the line
	l.last = s
}

// share returns n/whole, rounded to four digits.
func share(n, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return rounded(float64(n) / float64(whole))
}

func rounded(share float64) float64 { return math.Round(share*1e4) / 1e4 }
