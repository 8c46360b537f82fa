package monitor

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Lines returns a handler of plain lines: the time in UTC, the level unless it is
// Info, the message, and key=value for each attribute. Each is one Write to w.
func Lines(w io.Writer) slog.Handler { return newLines(w, slog.LevelInfo) }

// Errors is Lines without all that is less than an error.
func Errors(w io.Writer) slog.Handler { return newLines(w, slog.LevelError) }

func newLines(w io.Writer, least slog.Level) slog.Handler {
	h := &lines{out: w, least: least, mu: new(sync.Mutex), line: new(bytes.Buffer)}
	h.attrs = slog.NewTextHandler(h.line, &slog.HandlerOptions{ReplaceAttr: withoutHead})
	return h
}

// lines is a handler that writes the head of a line itself and leaves the attributes
// to slog. Handlers made of one another share all but attrs.
type lines struct {
	out   io.Writer
	least slog.Level
	mu    *sync.Mutex // for line
	line  *bytes.Buffer
	attrs slog.Handler // writes into line
}

// withoutHead leaves out what lines.Handle has written.
func withoutHead(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

// Enabled leaves out what is less than the least level.
func (h *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= h.least }

// Handle writes one line.
func (h *lines) Handle(ctx context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.line.Reset()
	h.line.WriteString(r.Time.UTC().Format(time.RFC3339))
	h.line.WriteByte(' ')
	if r.Level != slog.LevelInfo {
		h.line.WriteString(r.Level.String() + " ")
	}
	if r.Message != "" {
		h.line.WriteString(clean(r.Message) + " ")
	}
	if err := h.attrs.Handle(ctx, r); err != nil {
		return err
	}
	_, err := h.out.Write(append(bytes.TrimRight(h.line.Bytes(), " \n"), '\n'))
	return err
}

// WithAttrs returns a handler whose lines have more attributes.
func (h *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *h
	more.attrs = h.attrs.WithAttrs(attrs)
	return &more
}

// WithGroup returns a handler whose attributes are named after a group.
func (h *lines) WithGroup(name string) slog.Handler {
	more := *h
	more.attrs = h.attrs.WithGroup(name)
	return &more
}
