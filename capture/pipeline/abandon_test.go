// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// hanging is a task whose first Write hangs until it is released.
type hanging struct {
	giveUp, release, released chan struct{}
	cancel                    func()
	writes                    *int
	finished                  *bool
}

func (h *hanging) Prepare(*capture.Batch)     {}
func (h *hanging) Judge(*capture.Batch) error { return nil }
func (h *hanging) GiveUp() <-chan struct{}    { return h.giveUp }
func (h *hanging) Finish() error              { *h.finished = true; return nil }
func (h *hanging) Write(b *capture.Batch) error {
	*h.writes++
	h.cancel()
	close(h.giveUp)
	<-h.release
	defer close(h.released)
	return errors.New("too late")
}

// TestAbandon leaves a Write behind that hangs: nothing follows it when it returns.
func TestAbandon(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		ctx, cancel := context.WithCancel(t.Context())
		writes, finished := 0, false
		h := hanging{giveUp: make(chan struct{}), release: make(chan struct{}), released: make(chan struct{}),
			cancel: cancel, writes: &writes, finished: &finished}
		src := &numbered{n: 100, err: errors.New("end")}
		p := New(src)
		err := p.Run(ctx, workers, func() Task { one := h; return &one })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d workers: %v", workers, err)
		}
		close(h.release)
		<-h.released
		<-p.ended
		if writes != 1 || finished || !errors.Is(p.err, context.Canceled) {
			t.Errorf("%d workers: %d writes, finished %v, %v", workers, writes, finished, p.err)
		}
		if err := p.Close(); err != nil || !src.closed.Load() {
			t.Error(err)
		}
	}
}
