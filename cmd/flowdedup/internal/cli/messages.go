// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// Report prints an error, one line per joined error. It prints equal texts once.
func (e *Env) Report(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	printed := map[string]bool{}
	for _, one := range flatten(err) {
		if text := one.Error(); !isQuietEnd(one) && !printed[text] {
			printed[text] = true
			e.line(text)
		}
	}
}

// line prints one line. e.mu is held.
func (e *Env) line(text string) {
	if e.clearProgress != nil {
		e.clearProgress()
	}
	fmt.Fprintf(e.Stderr, "flowdedup: %s\n", show.Printable(strings.ReplaceAll(text, "\n", "; ")))
}

// maxWarnings is how many warnings a run prints. A hostile file can cause one per packet.
const maxWarnings = 10

// Warn prints a warning; the run goes on. It is safe for concurrent use.
func (e *Env) Warn(err error) {
	if e.Quiet.Load() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	text := "warning: " + err.Error()
	switch e.warnings++; {
	case e.warnings > maxWarnings:
		return
	case e.warnings == maxWarnings:
		text += "; further warnings are not shown"
	}
	e.line(text)
}

// Notice prints a hint that is no problem.
func (e *Env) Notice(text string) {
	if e.Quiet.Load() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.line("noticed: " + text)
}

// WarnUnopened warns if most packets were not opened: copies of them that differ in any byte are
// not found, and addresses in them are not counted.
func WarnUnopened(e *Env, which string, unopened map[string]uint64, packets uint64) {
	if show.MostUnopened(unopened, packets) {
		e.Warn(fmt.Errorf("most %s were not opened, so their addresses are unknown, and copies that differ are not found: %s",
			which, show.Unopened(unopened, packets)))
	}
}

// Logger returns a logger that passes warnings to the command.
func (e *Env) Logger() *slog.Logger { return slog.New(warnings{e}) }

// warnings passes warnings on and drops other records.
type warnings struct{ env *Env }

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
	w.env.Warn(errors.New(text.String()))
	return nil
}

// WithAttrs implements slog.Handler; it is never called.
func (w warnings) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler; it is never called.
func (w warnings) WithGroup(string) slog.Handler { return w }

// defaultColumns is the width of a terminal that does not say how wide it is.
const defaultColumns = 80

// Columns returns the width of the terminal that w is, 0 if it is none.
func (e *Env) Columns(w io.Writer) int {
	if w == e.Stdout {
		w = e.stdout
	}
	if !IsTerminal(w) {
		return 0
	}
	columns, _, err := term.GetSize(int(w.(*os.File).Fd()))
	if err != nil || columns <= 0 {
		return defaultColumns
	}
	return columns
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
