package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// numbered is a source of n batches, each of which has its number as the only
// frame's length, and then err.
type numbered struct {
	capture.Source
	n    int
	err  error
	next int
	hang <-chan struct{} // what the batch after the last one waits for, if not nil
}

func (s *numbered) Next(b *capture.Batch) error {
	b.Reset()
	if s.next == s.n {
		if s.hang != nil {
			<-s.hang
		}
		return s.err
	}
	b.Frames = append(b.Frames, capture.Frame{CapLen: uint32(s.next)})
	s.next++
	return nil
}

func (s *numbered) Offset() (done, total int64) { return 0, 0 }

func (s *numbered) Close() error { return nil }

func newTestStream(src capture.Source) *Stream {
	return &Stream{src: src, survived: &survived{}, ended: make(chan struct{})}
}

// recorder is a task that notes what it was given.
type recorder struct {
	t        *testing.T
	prepared int
	applied  *[]int
	alone    *atomic.Int32
	fail     func(n int) error
}

func (r *recorder) Prepare(b *capture.Batch) {
	r.prepared = int(b.Frames[0].CapLen)
	// Long enough for others to overtake.
	time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
}

func (r *recorder) Apply(b *capture.Batch) error {
	if r.alone.Add(1) != 1 {
		r.t.Error("two tasks apply at once")
	}
	defer r.alone.Add(-1)
	n := int(b.Frames[0].CapLen)
	if n != r.prepared {
		r.t.Errorf("batch %d was prepared as %d", n, r.prepared)
	}
	if err := r.fail(n); err != nil {
		return err
	}
	*r.applied = append(*r.applied, n)
	return nil
}

// TestEach takes batches through any number of workers, to the stream's end or an
// error of either side.
func TestEach(t *testing.T) {
	broken, full := errors.New("broken"), errors.New("full")
	never := func(int) error { return nil }
	for _, c := range []struct {
		name    string
		end     error // of the source, after 300 batches
		fail    func(n int) error
		want    error
		applied int
	}{
		{"whole", io.EOF, never, nil, 300},
		{"source fails", broken, never, broken, 300},
		{"task fails", io.EOF, func(n int) error {
			if n == 117 {
				return full
			}
			return nil
		}, full, 117},
	} {
		for _, workers := range []int{0, 1, 2, 3, 8} {
			t.Run(fmt.Sprintf("%s/workers=%d", c.name, workers), func(t *testing.T) {
				s := newTestStream(&numbered{n: 300, err: c.end})
				progress := uint64(0)
				s.progress = func(_, _ int64, packets uint64) { progress = packets }
				var applied []int
				var alone atomic.Int32
				err := s.Each(context.Background(), workers, func() Task {
					return &recorder{t: t, applied: &applied, alone: &alone, fail: c.fail}
				})
				if !errors.Is(err, c.want) || err != nil && c.want == nil {
					t.Errorf("error %v, want %v", err, c.want)
				}
				if len(applied) != c.applied || !slices.IsSorted(applied) {
					t.Errorf("applied %v", applied)
				}
				if progress != uint64(c.applied) {
					t.Errorf("told of %d packets", progress)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestEachCancelled leaves a source that says nothing any more: all that came before
// was applied, and nothing is afterwards.
func TestEachCancelled(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		ctx, cancel := context.WithCancel(context.Background())
		hang := make(chan struct{})
		s := newTestStream(&numbered{n: 5, err: io.EOF, hang: hang})
		applied := 0
		err := s.Each(ctx, workers, func() Task {
			return InOrder(func(*capture.Batch) error {
				if applied++; applied == 5 {
					cancel()
				}
				return nil
			})
		})
		if !errors.Is(err, context.Canceled) || applied != 5 {
			t.Errorf("%d workers: error %v after %d batches", workers, err, applied)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		close(hang)
		<-s.ended
		if applied != 5 {
			t.Errorf("%d workers: applied after the end", workers)
		}
	}
}
