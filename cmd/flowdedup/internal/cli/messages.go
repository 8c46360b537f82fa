package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// report prints an error, one line for each of several that are joined. It prints equal
// texts once.
func (e *env) report(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	told := map[string]bool{}
	for _, one := range flatten(err) {
		if text := one.Error(); !isQuietEnd(one) && !told[text] {
			told[text] = true
			e.line(text)
		}
	}
}

// line prints one line. e.mu is held.
func (e *env) line(text string) {
	e.clearProgress()
	fmt.Fprintf(e.stderr, "flowdedup: %s\n", show.Printable(strings.ReplaceAll(text, "\n", "; ")))
}

// maxWarnings is how many warnings one run prints: a hostile file can cause one with every
// packet.
const maxWarnings = 10

// warn prints what the user should know although the run goes on. Any goroutine may call
// it.
func (e *env) warn(err error) {
	if e.quiet {
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

// notice prints what may interest the user although nothing is wrong.
func (e *env) notice(text string) {
	if e.quiet {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.line("noticed: " + text)
}

// noticeTunnels suggests --identity inner where most packets travel in tunnels.
func noticeTunnels(e *env, s *dedup.Summary) {
	if s.InTunnels <= 0.5 {
		return
	}
	names := make([]string, len(s.Tunnels))
	for i, t := range s.Tunnels {
		names[i] = t.String()
	}
	e.notice(fmt.Sprintf("%.0f %% of packets are %s; for copies inside of tunnels try --identity inner",
		100*s.InTunnels, strings.Join(names, ", ")))
}

// logger returns a logger that passes warnings to the command.
func (e *env) logger() *slog.Logger { return slog.New(warnings{e}) }

// warnings passes warnings on and drops other records.
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
