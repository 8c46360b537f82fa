// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/flowdedup/flowdedup/capture/outfile"
)

// LogNoReader returns a context for opening outputs. It logs the name of a pipe that has no reader,
// before the wait for one.
func LogNoReader(ctx context.Context, log *slog.Logger) context.Context {
	return outfile.WithNoReader(ctx, func(name string) { log.Info("waits for a reader of the pipe", "output", name) })
}

// calls runs calls that may block in its own goroutine, one at a time.
type calls struct {
	name    string
	next    chan func() error
	done    chan error
	blocked bool
}

func newCalls(name string) *calls {
	c := &calls{name: name, next: make(chan func() error), done: make(chan error, 1)}
	go func() {
		for f := range c.next {
			c.done <- f()
		}
	}()
	return c
}

// grace is how long each call may take after endTimeout has passed. A call that does not
// block takes less.
const grace = 100 * time.Millisecond

// do returns what f returns, or ErrBlocked if giveUp is closed first. In that case f
// keeps running until the process ends, and do calls nothing any more.
func (c *calls) do(giveUp <-chan struct{}, f func() error) error {
	if c == nil {
		return f()
	}
	if c.blocked {
		return c.blockedError()
	}
	c.next <- f
	select {
	case err := <-c.done:
		return err
	case <-giveUp:
	}
	select {
	case err := <-c.done:
		return err
	case <-time.After(grace):
	}
	select {
	case err := <-c.done: // f ended while the machine did not run this goroutine
		return err
	default:
		c.blocked = true
		return c.blockedError()
	}
}

func (c *calls) blockedError() error { return fmt.Errorf("%s: %w", c.name, ErrBlocked) }

// stop ends the goroutine after its current call.
func (c *calls) stop() {
	if c != nil {
		close(c.next)
	}
}

// InterruptibleWriter is an io.Writer that abandons a blocked write when the run is to
// end. It serves one goroutine.
type InterruptibleWriter struct {
	w      io.Writer
	calls  *calls
	giveUp <-chan struct{}
	copied []byte // the bytes in flight, because the caller may reuse its own
}

// NewInterruptibleWriter returns a writer to w. Errors call it name. When ctx is done,
// the run is to end. The caller must call Close.
func NewInterruptibleWriter(ctx context.Context, name string, w io.Writer) *InterruptibleWriter {
	return &InterruptibleWriter{w: w, calls: newCalls(name), giveUp: closedAfter(ctx, endTimeout)}
}

// Write writes b. After an error that wraps ErrBlocked it writes nothing any more.
func (p *InterruptibleWriter) Write(b []byte) (n int, err error) {
	if p.calls.blocked {
		return 0, p.calls.blockedError()
	}
	p.copied = append(p.copied[:0], b...)
	written := 0
	err = p.calls.do(p.giveUp, func() (err error) {
		written, err = p.w.Write(p.copied)
		return err
	})
	if p.calls.blocked {
		return 0, err
	}
	return written, err
}

// Close ends the goroutine of Write. It does not close the writer below.
func (p *InterruptibleWriter) Close() error {
	p.calls.stop()
	return nil
}
