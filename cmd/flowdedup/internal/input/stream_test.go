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
	return New(src, nil)
}

// recorder is a task that notes what it was given.
type recorder struct {
	t        *testing.T
	prepared int
	applied  *record
	written  *record
}

// record is what all tasks did in one stage. Only one of them at a time may be there.
type record struct {
	stage string
	alone atomic.Int32
	done  []int
	fail  func(n int) error
}

func (r *record) add(t *testing.T, n, prepared int) error {
	if r.alone.Add(1) != 1 {
		t.Errorf("two tasks %s at once", r.stage)
	}
	defer r.alone.Add(-1)
	if n != prepared {
		t.Errorf("%s: batch %d was prepared as %d", r.stage, n, prepared)
	}
	if err := r.fail(n); err != nil {
		return err
	}
	r.done = append(r.done, n)
	return nil
}

func (r *recorder) Prepare(b *capture.Batch) {
	r.prepared = int(b.Frames[0].CapLen)
	// Long enough for others to overtake.
	time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
}

func (r *recorder) Apply(b *capture.Batch) error {
	return r.applied.add(r.t, int(b.Frames[0].CapLen), r.prepared)
}

func (r *recorder) Write(b *capture.Batch) error {
	if rand.IntN(50) == 0 {
		time.Sleep(time.Millisecond) // as when nobody reads a pipe
	}
	return r.written.add(r.t, int(b.Frames[0].CapLen), r.prepared)
}

// TestEach takes batches through any number of workers, to the stream's end or an
// error of either side.
func TestEach(t *testing.T) {
	broken, full := errors.New("broken"), errors.New("full")
	never := func(int) error { return nil }
	at := func(bad int) func(int) error {
		return func(n int) error {
			if n == bad {
				return full
			}
			return nil
		}
	}
	for _, c := range []struct {
		name             string
		end              error // of the source, after 300 batches
		apply, write     func(n int) error
		want             error
		applied, written int
		ahead            int // how many more batches may have been applied
	}{
		{"whole", io.EOF, never, never, nil, 300, 300, 0},
		{"source fails", broken, never, never, broken, 300, 300, 0},
		{"apply fails", io.EOF, at(117), never, full, 117, 117, 0},
		{"write fails", io.EOF, never, at(117), full, 118, 117, 8},
		{"last write fails", io.EOF, never, at(299), full, 300, 299, 0},
		{"source and write fail", broken, never, at(299), full, 300, 299, 0},
	} {
		for _, workers := range []int{0, 1, 2, 3, 8} {
			t.Run(fmt.Sprintf("%s/workers=%d", c.name, workers), func(t *testing.T) {
				s := newTestStream(&numbered{n: 300, err: c.end})
				progress := uint64(0)
				s.progress = func(_, _ int64, packets uint64) { progress = packets }
				applied, written := record{stage: "apply", fail: c.apply}, record{stage: "write", fail: c.write}
				err := s.Each(context.Background(), workers, func() Task {
					return &recorder{t: t, applied: &applied, written: &written}
				})
				if !errors.Is(err, c.want) || err != nil && c.want == nil {
					t.Errorf("error %v, want %v", err, c.want)
				}
				if n := len(applied.done); n < c.applied || n > c.applied+c.ahead || !slices.IsSorted(applied.done) {
					t.Errorf("applied %v", applied.done)
				}
				if len(written.done) != c.written || !slices.IsSorted(written.done) {
					t.Errorf("written %v", written.done)
				}
				if progress != uint64(len(applied.done)) {
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
