package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/flowdedup/flowdedup/capture"
)

// env is what a command may touch of the world.
type env struct {
	stdout, stderr io.Writer
	// wrap is input.Options.Wrap.
	wrap func(capture.Source) capture.Source
	// signal is the one that asked the command to end, 0 if none did.
	signal atomic.Int32
	// quiet drops warnings.
	quiet bool

	mu       sync.Mutex // for what follows, and lines on stderr
	warnings int
	// clearProgress clears the progress line before something else is printed.
	clearProgress func()
}

// Main runs one command line and returns the exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	e := &env{stdout: stdout, stderr: stderr, clearProgress: func() {}}
	ctx, stop := e.watchSignals(context.Background())
	defer stop()
	root := newRoot(e)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	e.report(err)
	return e.exitCode(err)
}

// watchSignals returns a context that ends with the first SIGINT or SIGTERM. A
// second one ends the process the hard way, since the handler is gone then.
// SIGPIPE is turned into the write error that it stands for.
func (e *env) watchSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	ignoreSIGPIPE()
	go func() {
		defer signal.Stop(ch)
		select {
		case s := <-ch:
			if n, ok := s.(syscall.Signal); ok {
				e.signal.Store(int32(n))
			}
			signal.Stop(ch) // before anybody can wait for the context
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// report prints an error, one line for each of several that are joined. What
// two outputs say with the same words is told once.
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
	fmt.Fprintf(e.stderr, "flowdedup: %s\n", strings.ReplaceAll(text, "\n", "; "))
}

// maxWarnings is how many warnings one run prints: a hostile file can give
// cause for one with every packet.
const maxWarnings = 10

// warn prints what the user should know although the run goes on. It may be
// called from any goroutine.
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
