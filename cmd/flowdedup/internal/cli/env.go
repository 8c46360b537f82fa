// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/layout"
)

// Env is a command's access to the outside.
type Env struct {
	Stdout, Stderr io.Writer
	// stdout is the stream below Stdout.
	stdout io.Writer
	// Wrap is input.Options.Wrap.
	Wrap func(capture.Source) capture.Source
	// signal is the signal that asked the command to end, nil if none did.
	signal atomic.Pointer[received]
	// closed is nil if standard output is open.
	closed *closedStdout
	// Quiet drops warnings. Signals read it while a command sets it.
	Quiet atomic.Bool

	mu       sync.Mutex             // guards the fields below, and lines on stderr
	hangup   atomic.Pointer[func()] // called on SIGHUP; nil if SIGHUP ends the command
	warnings int
	// clearProgress clears the progress line before other output; nil if no line is shown.
	clearProgress func()
}

// closedStdout is a standard output for which outfile.MayBeClosed returns true. It is a warning that
// results are lost there, and changes neither the run nor its exit code.
type closedStdout struct{ lost atomic.Bool }

var errNotPrinted = errors.New("standard output is closed, or the null device: no result was printed")

func (c *closedStdout) Write(p []byte) (int, error) {
	c.lost.Store(true)
	return len(p), nil
}

// NoteLost notes that the standard output, if it is closed, loses what goes to these outputs.
func (e *Env) NoteLost(outputs ...string) {
	if e.closed != nil && slices.ContainsFunc(outputs, outfile.IsStdout) {
		e.closed.lost.Store(true)
	}
}

// UnlessClosed returns w, or a writer that discards all if w is a closed standard output: for
// summaries of runs whose results are elsewhere.
func (e *Env) UnlessClosed(w io.Writer) io.Writer {
	if e.closed != nil && w == e.Stdout {
		return io.Discard
	}
	return w
}

// shared is a terminal that the progress line may be on, too.
type shared struct {
	env *Env
	out io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.env.mu.Lock()
	if s.env.clearProgress != nil {
		s.env.clearProgress()
	}
	s.env.mu.Unlock()
	return s.out.Write(p)
}

// Redirect makes w the standard error of messages from now on.
func (e *Env) Redirect(w io.Writer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.Stderr = w
}

// Run calls run with the command's environment, and returns the exit code. The context of run
// ends with a signal.
func Run(stdout, stderr io.Writer, run func(context.Context, *Env) error) int {
	boundHeap()
	e := &Env{Stderr: stderr, stdout: stdout}
	if err := checkOpenFiles(); err != nil {
		e.Report(err)
		return e.ExitCode(err)
	}
	ctx, stop := e.watchSignals(context.Background())
	defer stop()
	if stdout == io.Writer(os.Stdout) && outfile.MayBeClosed() {
		e.closed = &closedStdout{}
		stdout = e.closed
	}
	out := sink.NewInterruptibleWriter(ctx, "standard output", stdout)
	defer out.Close()
	e.Stdout = out
	if IsTerminal(e.stdout) {
		e.Stdout = &shared{e, out}
	}
	err := run(outfile.WithNoReader(ctx, func(name string) {
		e.Notice(name + " is a pipe without a reader: the run waits for one")
	}), e)
	if e.closed != nil && e.closed.lost.Load() {
		e.Warn(errNotPrinted)
	}
	e.Report(err)
	return e.ExitCode(err)
}

// boundHeap lets the garbage collector work before the process takes more memory than half of its
// limit: otherwise freed memory counts against the limit of a container. GOMEMLIMIT, and a lower
// limit that a command sets, take precedence. The limit of the process is read after the first
// collection, which a short run never has; at once with GOGC=off, which has none before a limit.
func boundHeap() {
	bound := func(struct{}) {
		limit := layout.MemoryLimit() / 2
		if lower := debug.SetMemoryLimit(limit); lower < limit {
			debug.SetMemoryLimit(lower)
		}
	}
	switch {
	case os.Getenv("GOMEMLIMIT") != "":
	case os.Getenv("GOGC") == "off":
		bound(struct{}{})
	default:
		runtime.AddCleanup(new(*byte), bound, struct{}{})
	}
}

// Remembered returns how many bytes packets may take: the value of a flag, else its default, but at
// most a quarter of the process's limit.
func Remembered(fs *pflag.FlagSet, flag string, memory int) int {
	if fs.Changed(flag) {
		return memory
	}
	return min(memory, 2*layout.MemoryBudget())
}
