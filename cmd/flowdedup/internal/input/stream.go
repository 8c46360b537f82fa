package input

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/flowdedup/flowdedup/capture"
)

// Task is the work on one batch at a time. None of its methods may keep the batch.
type Task interface {
	// Prepare does what the batches before have no part in. Other tasks prepare,
	// apply or write theirs meanwhile.
	Prepare(b *capture.Batch)
	// Apply does what depends on the batches before: of all tasks together, for one
	// batch after another in the order of the stream, though not always on the same
	// goroutine.
	Apply(b *capture.Batch) error
	// Write hands on what has come of a batch that was applied, in the same order,
	// while later batches are applied.
	Write(b *capture.Batch) error
}

// InOrder is a Task without a part that needs no order.
type InOrder func(b *capture.Batch) error

// Prepare does nothing.
func (InOrder) Prepare(*capture.Batch) {}

// Apply calls f.
func (f InOrder) Apply(b *capture.Batch) error { return f(b) }

// Write does nothing.
func (InOrder) Write(*capture.Batch) error { return nil }

// slot is the memory for one batch and the work on it.
type slot struct {
	batch  capture.Batch
	task   Task
	number int   // of the batch in the stream
	err    error // what ended the stream instead of a batch
	sorted sorted
}

// line is a stream on its way through the workers. A worker reads the bytes of a
// batch, while others do, as far as the source allows that; finds the records in them
// when that is done for the batch before; prepares the batch; and leaves it at the
// first of two stages, at each of which one batch after another is dealt with, in their
// order. So a batch mostly stays in the caches of one core from its first byte to its
// last, and all that depends on order happens as if there were one worker.
type line struct {
	stream *Stream
	ctx    context.Context
	free   chan *slot
	over   chan struct{} // closed when no more is to be done

	claiming sync.Mutex
	number   int // of the next batch

	reading turns

	mu           sync.Mutex
	moved        *sync.Cond // a worker is done with applying or writing
	apply, write stage
	stopped      bool  // nothing more is applied
	unwritable   bool  // nothing more is written: that is the reason
	complete     bool  // err is how the stream ended
	err          error // why the line stopped
}

func newLine(ctx context.Context, s *Stream, slots int, task func() Task) *line {
	l := &line{
		stream: s, ctx: ctx,
		free: make(chan *slot, slots), over: make(chan struct{}),
		apply: stage{ready: make([]*slot, slots)}, write: stage{ready: make([]*slot, slots)},
	}
	l.moved = sync.NewCond(&l.mu)
	l.reading.changed = sync.NewCond(&l.reading.mu)
	for range slots {
		l.free <- &slot{task: task()}
	}
	return l
}

// Each has so many workers, at least one, take every batch through tasks, of which
// task makes a few, and returns nil at the clean end of the stream. Otherwise it
// returns the context's error once that is done, what ended the input early, or the
// error of Apply or Write, or ErrFilter (with bpf.ErrExpression, if the
// expression has no meaning for the first packet); then no task applies or writes anything any more. What was
// applied has been written, unless Write failed. It can be called once.
func (s *Stream) Each(ctx context.Context, workers int, task func() Task) error {
	workers = max(workers, 1)
	slots := 1
	if workers > 1 {
		// One more than workers: a batch that waits for its turn holds nobody up.
		slots = workers + 1
	}
	l := newLine(ctx, s, slots, task)
	var working sync.WaitGroup
	for range workers {
		working.Go(l.work)
	}
	go func() {
		working.Wait()
		close(s.ended)
	}()
	select {
	case <-l.over:
	case <-ctx.Done():
		l.mu.Lock()
		l.stop(ctx.Err())
		l.mu.Unlock()
	}
	return l.wait()
}

// wait returns why the line stopped, when nobody applies or writes any more.
func (l *line) wait() error {
	l.mu.Lock()
	for l.apply.busy || l.write.turn < l.apply.turn {
		l.moved.Wait()
	}
	complete, err := l.complete, l.err
	l.mu.Unlock()
	if complete {
		// Nobody is in a read, which else could take for ever.
		<-l.stream.ended
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// stop lets nothing more be applied, and err be the reason unless there is one. It is
// called with l.mu.
func (l *line) stop(err error) {
	if !l.stopped {
		l.stopped, l.err = true, err
		close(l.over)
		l.reading.end()
	}
}

// work is what each worker does.
func (l *line) work() {
	for {
		var s *slot
		select {
		case s = <-l.free:
		case <-l.over:
			return
		}
		l.claim(s)
		if !l.read(s) {
			return
		}
		if s.err == nil {
			l.prepare(s)
		}
		l.deliver(s)
	}
}

// prepare does what the batches before have no part in.
func (l *line) prepare(s *slot) {
	l.stream.filter.keep(l.ctx, &s.batch, &s.sorted)
	if s.sorted.err == nil {
		s.task.Prepare(&s.batch)
	}
}

// claim gives a batch its number, and its piece of the input where the source is read
// in pieces.
func (l *line) claim(s *slot) {
	l.claiming.Lock()
	s.number = l.number
	l.number++
	pieces, inPieces := l.stream.src.(capture.Preloader)
	if inPieces {
		pieces.Reserve(&s.batch)
	}
	l.claiming.Unlock()
	if inPieces {
		pieces.ReadReserved(&s.batch)
	}
}

// read reads the batch, or what ended the stream, unless that was an earlier one.
func (l *line) read(s *slot) bool {
	if !l.reading.wait(s.number) {
		return false
	}
	if s.err = l.stream.src.Next(&s.batch); s.err == nil {
		s.sorted = l.stream.filter.admit(&s.batch)
	}
	l.reading.done(s.err != nil)
	return true
}

// count enters the packets of a batch, and tells of progress.
func (s *Stream) count(kept, filtered int) {
	s.packets += uint64(kept + filtered)
	s.filtered += uint64(filtered)
	if s.progress != nil {
		done, total := s.src.Offset()
		s.progress(done, total, s.packets)
	}
}
