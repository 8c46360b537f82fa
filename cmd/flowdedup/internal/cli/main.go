package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/extcap"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// env is a command's access to the outside.
type env struct {
	stdout, stderr io.Writer
	// terminal reports whether standard output is one.
	terminal bool
	// wrap is input.Options.Wrap.
	wrap func(capture.Source) capture.Source
	// signal is the signal that asked the command to end, 0 if none did.
	signal atomic.Int32
	// quiet drops warnings.
	quiet bool

	mu       sync.Mutex // for what follows, and lines on stderr
	hangup   func()     // what SIGHUP does instead of ending the command; nil for that
	warnings int
	// clearProgress clears the progress line before other output.
	clearProgress func()
}

// closedStdout is the standard output of a process that was started without one. The runtime
// puts the null device there, which would take all results without a word. Programs that want
// no output give the same device, opened for reading too: nothing tells the two apart. So a
// lost result is reported, and changes no exit code.
type closedStdout struct{}

var errNotPrinted = errors.New("standard output is closed, or the null device: no result was printed")

func (closedStdout) Write([]byte) (int, error) { return 0, errNotPrinted }

// unlessClosed drops the error of a closed standard output, for summaries of runs whose
// results are elsewhere.
func unlessClosed(err error) error {
	if errors.Is(err, errNotPrinted) {
		return nil
	}
	return err
}

// Main runs one command line and returns the exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	boundHeap()
	e := &env{stderr: stderr, terminal: isTerminal(stdout), clearProgress: func() {}}
	if err := checkOpenFiles(); err != nil {
		e.report(err)
		return e.exitCode(err)
	}
	ctx, stop := e.watchSignals(context.Background())
	defer stop()
	if stdout == io.Writer(os.Stdout) && outfile.CheckStdout() != nil {
		stdout = closedStdout{}
	}
	out := sink.NewInterruptibleWriter(ctx, "standard output", stdout)
	defer out.Close()
	e.stdout = out
	var err error
	if extcap.Asked(args) {
		if args, err = answerWireshark(ctx, e, args); args == nil {
			e.report(err)
			return e.exitCode(err)
		}
	}
	root := newRoot(e)
	root.SetArgs(args)
	err = root.ExecuteContext(ctx)
	e.report(err)
	return e.exitCode(err)
}
