package sink

import (
	"context"
	"fmt"
	"io"
	"time"
)

// calls runs what may block on a goroutine of its own, one call at a time.
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

// grace is how long each call may take when patience is over: one that does not block
// takes less.
const grace = 100 * time.Millisecond

// do returns what f returns, or ErrBlocked if giveUp is closed before. Then f goes on
// for as long as the process does, and nothing is called any more.
func (c *calls) do(giveUp <-chan struct{}, f func() error) error {
	if c == nil {
		return f()
	}
	if c.blocked {
		return fmt.Errorf("%s: %w", c.name, ErrBlocked)
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
		c.blocked = true
		return fmt.Errorf("%s: %w", c.name, ErrBlocked)
	}
}

// stop ends the goroutine when it is done.
func (c *calls) stop() {
	if c != nil {
		close(c.next)
	}
}

// InterruptibleWriter is an io.Writer that gives up a write that blocks once the run is to end. It
// is for one goroutine.
type InterruptibleWriter struct {
	w      io.Writer
	calls  *calls
	giveUp <-chan struct{}
	copied []byte // what is being written, since the caller may go on
}

// NewInterruptibleWriter returns a writer to w, which errors call by a name. The run is to end when
// ctx is done. It must be closed.
func NewInterruptibleWriter(ctx context.Context, name string, w io.Writer) *InterruptibleWriter {
	return &InterruptibleWriter{w: w, calls: newCalls(name), giveUp: closedAfter(ctx, endTimeout)}
}

// Write writes p. The error may wrap ErrBlocked; then nothing is written any more.
func (p *InterruptibleWriter) Write(b []byte) (n int, err error) {
	if p.calls.blocked {
		return 0, p.calls.do(p.giveUp, nil)
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

// Close ends what Write has begun. It does not close the writer below.
func (p *InterruptibleWriter) Close() error {
	p.calls.stop()
	return nil
}
