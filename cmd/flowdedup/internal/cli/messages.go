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
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
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

// Progress shows the progress of a run, on a terminal only. It shares the lock of
// standard error with warnings, which come from other goroutines.
type Progress struct {
	mu    *sync.Mutex
	bar   *progressbar.ProgressBar // nil where nothing is shown
	next  time.Time
	drawn int // times
}

const (
	// redraw is the interval between two drawings of the line.
	redraw = 200 * time.Millisecond
	// settled is from which drawing on the line estimates the time that is left. The first
	// batches wait for memory and threads, and the estimate is a mean over the latest ten.
	settled = 15
)

func NewProgress(e *Env, c *Common) *Progress {
	p := &Progress{mu: &e.mu}
	if c.Quiet || c.NoProgress || !IsTerminal(e.Stderr) || os.Getenv("TERM") == "dumb" {
		return p
	}
	p.bar = newBar(e.Stderr, redraw)
	e.clearProgress = p.clear
	return p
}

// newBar returns a line that is drawn at most once in the given time.
func newBar(w io.Writer, every time.Duration) *progressbar.ProgressBar {
	return progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(w),
		progressbar.OptionShowBytes(true),
		progressbar.OptionSetPredictTime(false), // until it settles
		progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(every),
		progressbar.OptionSetSpinnerChangeInterval(0), // it would draw from a goroutine of its own
	)
}

// clear removes the line until it is drawn again. The lock is held.
func (p *Progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear() // a bar that stays is only untidy
	}
}

// Update is called after each batch.
func (p *Progress) Update(done, total int64, packets uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		return
	}
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(redraw)
	if p.drawn++; p.drawn == settled {
		progressbar.OptionSetPredictTime(true)(p.bar)
	}
	if total > 0 {
		p.bar.ChangeMax64(total)
	}
	if packets > 0 { // saved counts have none
		p.bar.Describe(fmt.Sprintf("%s packets", show.Count(packets)))
	}
	// A progress line that cannot be drawn must not end the run.
	_ = p.bar.Set64(done)
}

// Close removes the line. It may be called twice.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		return
	}
	_ = p.bar.Finish()
	p.bar = nil
}

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
