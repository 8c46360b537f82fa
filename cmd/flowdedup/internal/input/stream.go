package input

import (
	"context"
	"errors"
	"io"

	"github.com/flowdedup/flowdedup/capture"
)

// ahead is how many batches exist: one is worked on, one is ready, one is
// being read. More would only push the chunks out of the second-level cache.
const ahead = 3

type result struct {
	batch *capture.Batch
	err   error
}

func newStream(src capture.Source) *Stream {
	s := &Stream{
		src:   src,
		out:   make(chan result),
		free:  make(chan *capture.Batch, ahead),
		done:  make(chan struct{}),
		ended: make(chan struct{}),
	}
	for range ahead {
		s.free <- new(capture.Batch)
	}
	return s
}

// read runs until the stream ends, fails or is closed.
func (s *Stream) read() {
	defer close(s.ended)
	for {
		var r result
		select {
		case r.batch = <-s.free:
		case <-s.done:
			return
		}
		r.err = s.src.Next(r.batch)
		select {
		case s.out <- r:
		case <-s.done:
			return
		}
		if r.err != nil {
			return
		}
	}
}

// Each hands every batch to handle, which must not keep it, and returns nil at
// the clean end of the stream. Otherwise it returns the context's error once
// that is done, what ended the input early, or the error of handle.
func (s *Stream) Each(ctx context.Context, handle func(*capture.Batch) error) error {
	for {
		b, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := handle(b); err != nil {
			return err
		}
		s.packets += uint64(len(b.Frames))
		if s.progress != nil {
			done, total := s.src.Offset()
			s.progress(done, total, s.packets)
		}
	}
}

// next returns the next batch, valid until the following call.
func (s *Stream) next(ctx context.Context) (*capture.Batch, error) {
	if s.last != nil {
		s.free <- s.last
		s.last = nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-s.out:
		if r.err == nil {
			s.last = r.batch
			return r.batch, nil
		}
		if errors.Is(r.err, io.EOF) {
			return nil, io.EOF
		}
		return nil, describe(r.err)
	}
}
