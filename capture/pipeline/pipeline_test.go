// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
)

// numbered is a source of n batches, each of which has its number as the only
// frame's length, and then err.
type numbered struct {
	capture.Source
	n    int
	err  error
	next int
	hang <-chan struct{} // what the batch after the last waits for, if not nil

	reading, closed atomic.Bool
}

func (s *numbered) Next(b *capture.Batch) error {
	s.reading.Store(true)
	defer s.reading.Store(false)
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

func (s *numbered) Close() error {
	s.closed.Store(true)
	if s.reading.Load() {
		return errors.New("closed during a read")
	}
	return nil
}

// recorder is a task that notes what it was given.
type recorder struct {
	t        *testing.T
	prepared int
	judged   *record
	written  *record
}

// record is what all tasks did in a stage. Only one task at a time may be there.
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
	yield(rand.IntN(50)) // others overtake
}

func (r *recorder) Judge(b *capture.Batch) error {
	return r.judged.add(r.t, int(b.Frames[0].CapLen), r.prepared)
}

func (r *recorder) Write(b *capture.Batch) error {
	if rand.IntN(50) == 0 {
		yield(1000) // as when nobody reads a pipe
	}
	return r.written.add(r.t, int(b.Frames[0].CapLen), r.prepared)
}

// yield lets other goroutines run, a number of times.
func yield(times int) {
	for range times {
		runtime.Gosched()
	}
}

// TestRun takes batches through any number of workers, to the stream's end or an
// error of either side.
func TestRun(t *testing.T) {
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
		name            string
		end             error // of the source, after 300 batches
		judge, write    func(n int) error
		want            error
		judged, written int
		ahead           bool // whether the other batches in flight may have been judged
	}{
		{"whole", io.EOF, never, never, nil, 300, 300, false},
		{"source fails", broken, never, never, broken, 300, 300, false},
		{"judge fails", io.EOF, at(117), never, full, 117, 117, false},
		{"write fails", io.EOF, never, at(117), full, 118, 117, true},
		{"last write fails", io.EOF, never, at(299), full, 300, 299, false},
		{"source and write fail", broken, never, at(299), full, 300, 299, false},
	} {
		for _, workers := range []int{0, 1, 2, 3, 8} {
			t.Run(fmt.Sprintf("%s/workers=%d", c.name, workers), func(t *testing.T) {
				s := New(&numbered{n: 300, err: c.end})
				judged, written := record{stage: "judge", fail: c.judge}, record{stage: "write", fail: c.write}
				err := s.Run(context.Background(), workers, func() Task {
					return &recorder{t: t, judged: &judged, written: &written}
				})
				if !errors.Is(err, c.want) || err != nil && c.want == nil {
					t.Errorf("error %v, want %v", err, c.want)
				}
				most := c.judged
				if c.ahead && workers > 1 {
					most += workers + 1 // two more in flight than workers, less the batch that fails
				}
				if n := len(judged.done); n < c.judged || n > most || !slices.IsSorted(judged.done) {
					t.Errorf("judged %v", judged.done)
				}
				if len(written.done) != c.written || !slices.IsSorted(written.done) {
					t.Errorf("written %v", written.done)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// finishing is a task that writes at the end.
type finishing struct {
	recorder
	finished *int
	err      error
}

func (f *finishing) Finish() error {
	*f.finished += len(f.written.done)
	return f.err
}

// TestFinish finishes once, when all that was judged has been written, however the stream
// ended, unless nothing can be written.
func TestFinish(t *testing.T) {
	broken, full, never := errors.New("broken"), errors.New("full"), func(int) error { return nil }
	fail := func(int) error { return full }
	for name, c := range map[string]struct {
		end, finish  error
		judge, write func(int) error
		want         []error
		finished     int
	}{
		"whole":        {end: io.EOF, finished: 50},
		"finish fails": {end: io.EOF, finish: full, want: []error{full}, finished: 50},
		"both fail":    {end: broken, finish: full, want: []error{broken, full}, finished: 50},
		"judge fails": {end: io.EOF, judge: func(n int) error {
			if n == 20 {
				return full
			}
			return nil
		}, want: []error{full}, finished: 20},
		"write fails": {end: io.EOF, finish: broken, write: fail, want: []error{full}},
	} {
		for _, workers := range []int{1, 4} {
			judged, written, finished := record{stage: "judge", fail: c.judge}, record{stage: "write", fail: c.write}, 0
			for _, r := range []*record{&judged, &written} {
				if r.fail == nil {
					r.fail = never
				}
			}
			err := New(&numbered{n: 50, err: c.end}).Run(context.Background(), workers, func() Task {
				return &finishing{recorder{t: t, judged: &judged, written: &written}, &finished, c.finish}
			})
			for _, want := range c.want {
				if !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", name, err, want)
				}
			}
			if finished != c.finished || (err == nil) != (c.want == nil) {
				t.Errorf("%s: finished after %d batches: %v", name, finished, err)
			}
		}
	}
}

// TestFinishCancelled finishes what was judged before the end of a context.
func TestFinishCancelled(t *testing.T) {
	never := func(int) error { return nil }
	for _, workers := range []int{1, 4} {
		ctx, cancel := context.WithCancel(context.Background())
		hang, finished := make(chan struct{}), 0
		judged := record{stage: "judge", fail: func(n int) error {
			if n == 4 {
				cancel()
			}
			return nil
		}}
		written := record{stage: "write", fail: never}
		p := New(&numbered{n: 5, err: io.EOF, hang: hang})
		err := p.Run(ctx, workers, func() Task {
			return &finishing{recorder{t: t, judged: &judged, written: &written}, &finished, nil}
		})
		if !errors.Is(err, context.Canceled) || finished != 5 {
			t.Errorf("%d workers: finished after %d batches: %v", workers, finished, err)
		}
		close(hang)
		<-p.ended
	}
}

// TestRunCancelled leaves a source that is silent: all that came before
// was judged, and nothing is afterwards.
func TestRunCancelled(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		ctx, cancel := context.WithCancel(context.Background())
		hang := make(chan struct{})
		src := &numbered{n: 5, err: io.EOF, hang: hang}
		s := New(src)
		judged := 0
		err := s.Run(ctx, workers, func() Task {
			return InOrder(func(*capture.Batch) error {
				if judged++; judged == 5 {
					cancel()
				}
				return nil
			})
		})
		if !errors.Is(err, context.Canceled) || judged != 5 {
			t.Errorf("%d workers: error %v after %d batches", workers, err, judged)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		close(hang)
		<-s.ended
		wait.Until(t, "the source to be closed, behind the last read", src.closed.Load)
		if judged != 5 {
			t.Errorf("%d workers: judged after the end", workers)
		}
	}
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
		s := New(&numbered{n: 30, err: c.err})
		packets := 0
		err := s.Run(context.Background(), 2, func() Task {
			return InOrder(func(b *capture.Batch) error { packets += len(b.Frames); return nil })
		})
		if packets != 30 || !errors.Is(err, c.err) || capture.IsDamage(err) != c.damaged || capture.IsUnread(err) != c.unread ||
			c.unread == strings.HasPrefix(err.Error(), "read: ") {
			t.Errorf("%d packets, then %v: damaged %v, unread %v", packets, err, capture.IsDamage(err), capture.IsUnread(err))
		}
	}
}

// admitting is a task that notes what it was shown before it prepares.
type admitting struct {
	recorder
	admitted *record
}

func (a *admitting) Admit(b *capture.Batch) {
	a.prepared = int(b.Frames[0].CapLen)
	_ = a.admitted.add(a.t, a.prepared, a.prepared)
}

func (a *admitting) Prepare(b *capture.Batch) {
	if n := int(b.Frames[0].CapLen); n != a.prepared {
		a.t.Errorf("batch %d was admitted as %d", n, a.prepared)
	}
}

// TestAdmit shows each batch in the order of the stream before it is prepared.
func TestAdmit(t *testing.T) {
	never := func(int) error { return nil }
	for _, workers := range []int{1, 4} {
		admitted, judged, written := record{stage: "admit", fail: never}, record{stage: "judge", fail: never}, record{stage: "write", fail: never}
		s := New(&numbered{n: 100, err: io.EOF})
		err := s.Run(context.Background(), workers, func() Task {
			return &admitting{recorder{t: t, judged: &judged, written: &written}, &admitted}
		})
		if err != nil || len(admitted.done) != 100 || !slices.IsSorted(admitted.done) || len(judged.done) != 100 {
			t.Errorf("%d workers: admitted %v, %v", workers, admitted.done, err)
		}
	}
}

// lending is a source that counts the batches that it lends.
type lending struct {
	numbered
	lent atomic.Int32
}

func (l *lending) Next(b *capture.Batch) error {
	l.lent.Add(1)
	return l.numbered.Next(b)
}

func (l *lending) GiveBack(*capture.Batch) { l.lent.Add(-1) }

// TestGiveBack gives each batch back once, after it was written. What ends the stream is no
// batch.
func TestGiveBack(t *testing.T) {
	for _, workers := range []int{1, 4} {
		src := &lending{numbered: numbered{n: 100, err: io.EOF}}
		written := 0
		err := New(src).Run(context.Background(), workers, func() Task {
			return inWriting(func() {
				written++
				if n := src.lent.Load(); n < 1 || int(n) > workers+2 {
					t.Errorf("%d workers: %d batches are lent", workers, n)
				}
			})
		})
		if n := src.lent.Load(); err != nil || written != 100 || n != 1 {
			t.Errorf("%d workers: %d batches not given back, %d written, %v", workers, n-1, written, err)
		}
	}
}

// inWriting is a task that only writes.
type inWriting func()

func (inWriting) Prepare(*capture.Batch)       {}
func (inWriting) Judge(*capture.Batch) error   { return nil }
func (f inWriting) Write(*capture.Batch) error { f(); return nil }

// TestCloseUnused closes the source of a pipeline that was not started.
func TestCloseUnused(t *testing.T) {
	src := &numbered{}
	if err := New(src).Close(); err != nil || !src.closed.Load() {
		t.Errorf("closed %v, %v", src.closed.Load(), err)
	}
}
