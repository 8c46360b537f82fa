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

func start(src capture.Source, failed []error) *Stream {
	s := &Stream{
		src:    src,
		failed: failed,
		out:    make(chan result),
		free:   make(chan *capture.Batch, ahead),
		done:   make(chan struct{}),
		ended:  make(chan struct{}),
	}
	for range ahead {
		s.free <- new(capture.Batch)
	}
	go s.read()
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

// Next returns the next batch, valid until the following call. It returns
// io.EOF at the clean end, the context's error once that is done, or what
// ended the input early.
func (s *Stream) Next(ctx context.Context) (*capture.Batch, error) {
	if s.last != nil {
		s.free <- s.last
		s.last = nil
	}
	if s.err != nil {
		return nil, s.err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	default:
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-s.out:
		if r.err == nil {
			s.last = r.batch
			return r.batch, nil
		}
		s.err = r.err
		if !errors.Is(r.err, io.EOF) {
			s.err = describe(r.err)
		}
		return nil, s.err
	}
}
