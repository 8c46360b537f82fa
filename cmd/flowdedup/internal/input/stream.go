package input

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/flowdedup/flowdedup/capture"
)

// Task is the work on one batch at a time. Neither method may keep the batch.
type Task interface {
	// Prepare does what the batches before have no part in. Other tasks prepare
	// or apply theirs meanwhile.
	Prepare(b *capture.Batch)
	// Apply does the rest: of all tasks together, for one batch after another in
	// the order of the stream, though not always on the same goroutine.
	Apply(b *capture.Batch) error
}

// InOrder is a Task without a part that needs no order.
type InOrder func(b *capture.Batch) error

// Prepare does nothing.
func (InOrder) Prepare(*capture.Batch) {}

// Apply calls f.
func (f InOrder) Apply(b *capture.Batch) error { return f(b) }

// slot is the memory for one batch and the work on it.
type slot struct {
	batch capture.Batch
	task  Task
	err   error // what ended the stream instead of a batch
}

// line is a stream on its way through the workers. A worker reads a batch, as the
// only one that reads; prepares it; and leaves it in its place. Where that is the
// place whose turn it is, the worker applies the batch, and those behind it that are
// ready, unless another one is doing so. So no worker ever waits for another to
// hand it anything, a batch stays in the caches of one core from its first byte to
// its last, and all that depends on order happens as if there were one worker.
type line struct {
	stream *Stream
	ctx    context.Context
	free   chan *slot
	over   chan struct{} // closed when no more is to be done

	reading sync.Mutex
	number  int  // of the next batch
	ended   bool // there is none

	mu       sync.Mutex
	idle     *sync.Cond // applying has become false
	ready    []*slot    // prepared batches, by their number modulo len(ready)
	turn     int        // the number of the batch that is applied next
	applying bool
	stopped  bool
	complete bool  // err is how the stream ended
	err      error // why the line stopped
}

func newLine(ctx context.Context, s *Stream, slots int, task func() Task) *line {
	l := &line{
		stream: s, ctx: ctx,
		free: make(chan *slot, slots), over: make(chan struct{}),
		ready: make([]*slot, slots),
	}
	l.idle = sync.NewCond(&l.mu)
	for range slots {
		l.free <- &slot{task: task()}
	}
	return l
}

// Each has so many workers, at least one, take every batch through tasks, of which
// task makes a few, and returns nil at the clean end of the stream. Otherwise it
// returns the context's error once that is done, what ended the input early, or the
// error of Apply; then no task applies anything any more. It can be called once.
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
		l.stop(ctx.Err())
	}
	return l.wait()
}

// wait returns why the line stopped, when nobody applies anything any more.
func (l *line) wait() error {
	l.mu.Lock()
	for l.applying {
		l.idle.Wait()
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

// stop lets nothing more be applied, and err be the reason unless there is one.
func (l *line) stop(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped {
		l.finish(err)
	}
}

// finish is stop for who has the lock.
func (l *line) finish(err error) {
	l.stopped, l.err = true, err
	close(l.over)
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
		n, ok := l.read(s)
		if !ok {
			return
		}
		if s.err == nil {
			s.task.Prepare(&s.batch)
		}
		l.deliver(n, s)
	}
}

// read reads the next batch, or what ended the stream, and returns its number.
func (l *line) read(s *slot) (n int, ok bool) {
	l.reading.Lock()
	defer l.reading.Unlock()
	select {
	case <-l.over:
		return 0, false
	default:
	}
	if l.ended {
		return 0, false
	}
	s.err = l.stream.src.Next(&s.batch)
	l.ended = s.err != nil
	n = l.number
	l.number++
	return n, true
}

// deliver puts a batch in its place, and applies those whose turn it is.
func (l *line) deliver(n int, s *slot) {
	l.mu.Lock()
	l.ready[n%len(l.ready)] = s
	busy := l.applying
	l.applying = true
	l.mu.Unlock()
	if busy {
		return
	}
	for s := l.next(); s != nil; s = l.next() {
		l.applied(s, l.apply(s))
	}
}

// next returns the batch whose turn it is, or nil, and then the caller is not the one
// who applies any more.
func (l *line) next() *slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	place := &l.ready[l.turn%len(l.ready)]
	if s := *place; s != nil && !l.stopped {
		*place = nil
		l.turn++
		return s
	}
	l.applying = false
	l.idle.Broadcast()
	return nil
}

// applied gives a slot back, and stops the line if err tells of an end.
func (l *line) applied(s *slot, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.complete = s.err != nil
	if err != nil && !l.stopped {
		l.finish(err)
	}
	l.free <- s
}

// apply does what a batch is for, or returns what came in its place.
func (l *line) apply(s *slot) error {
	switch {
	case l.ctx.Err() != nil:
		return l.ctx.Err()
	case errors.Is(s.err, io.EOF):
		return io.EOF
	case s.err != nil:
		return describe(s.err)
	}
	if err := s.task.Apply(&s.batch); err != nil {
		return err
	}
	l.stream.count(len(s.batch.Frames))
	return nil
}

// count tells of progress.
func (s *Stream) count(packets int) {
	s.packets += uint64(packets)
	if s.progress != nil {
		done, total := s.src.Offset()
		s.progress(done, total, s.packets)
	}
}
