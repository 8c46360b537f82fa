package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// logger returns a logger whose warnings are those of the command.
func (e *env) logger() *slog.Logger { return slog.New(warnings{e}) }

// warnings passes records on as warnings, and drops those that are none.
type warnings struct{ env *env }

// Enabled implements slog.Handler.
func (w warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle implements slog.Handler.
func (w warnings) Handle(_ context.Context, r slog.Record) error {
	var text strings.Builder
	text.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&text, ": %v", a.Value)
		return true
	})
	w.env.warn(errors.New(text.String()))
	return nil
}

// WithAttrs implements slog.Handler; nobody calls it.
func (w warnings) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler; nobody calls it.
func (w warnings) WithGroup(string) slog.Handler { return w }
