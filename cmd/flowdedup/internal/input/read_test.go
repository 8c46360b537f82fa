package input

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// failing is a source of n batches of ten octets, which then fails.
type failing struct {
	repeated10
	err error
}

func (f *failing) Next(b *capture.Batch) error {
	if err := f.repeated10.Next(b); err == nil {
		return nil
	}
	return f.err
}

// TestFailedRead processes what was read before a read fails, and does not take that
// for damage.
func TestFailedRead(t *testing.T) {
	for _, c := range []struct {
		err             error
		damaged, unread bool
	}{
		{err: &capture.InputError{Input: "x", Err: capture.ErrDamaged}, damaged: true, unread: true},
		{err: &capture.ReadError{Input: "x", Err: syscall.EIO}, unread: true},
		{err: errors.Join(&capture.ReadError{Input: "x", Err: syscall.EIO}, &capture.InputError{Input: "y", Err: capture.ErrDamaged}), damaged: true, unread: true},
		{err: syscall.EIO},
	} {
		s := newTestStream(&failing{repeated10{n: 3}, c.err})
		packets := 0
		err := s.Each(context.Background(), 2, func() Task {
			return InOrder(func(b *capture.Batch) error { packets += len(b.Frames); return nil })
		})
		if packets != 30 || !errors.Is(err, c.err) || s.Damaged(err) != c.damaged || IsUnread(err) != c.unread {
			t.Errorf("%d packets, then %v: damaged %v, unread %v", packets, err, s.Damaged(err), IsUnread(err))
		}
	}
}
