package sink

import (
	"context"
	"io"
)

// Patient is an io.Writer that gives up a write that blocks once the run is to end. It
// is for one goroutine.
type Patient struct {
	w      io.Writer
	calls  *calls
	giveUp <-chan struct{}
	copied []byte // what is being written, since the caller may go on
}

// NewPatient returns a writer to w, which errors call by a name. The run is to end when
// ctx is done. It must be closed.
func NewPatient(ctx context.Context, name string, w io.Writer) *Patient {
	return &Patient{w: w, calls: newCalls(name), giveUp: after(ctx, patience)}
}

// Write writes p. The error may wrap ErrBlocked; then nothing is written any more.
func (p *Patient) Write(b []byte) (n int, err error) {
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
func (p *Patient) Close() error {
	p.calls.stop()
	return nil
}
