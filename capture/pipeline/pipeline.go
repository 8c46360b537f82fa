package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/flowdedup/flowdedup/capture"
)

// Task is the work on one batch at a time. None of its methods may keep the batch.
type Task interface {
	// Prepare does what the batches before have no part in. Other tasks prepare,
	// apply or write theirs meanwhile.
	Prepare(b *capture.Batch)
	// Apply does what depends on the batches before. Of all tasks together it is
	// called for one batch after another, in the order of the stream, though not
	// always on the same goroutine.
	Apply(b *capture.Batch) error
	// Write hands on what has come of a batch that was applied, in the same order,
	// while later batches are applied.
	Write(b *capture.Batch) error
}

// Admitter is a Task that sees each batch before it is prepared.
type Admitter interface {
	Task
	// Admit is called as soon as a batch has been read, for one batch after another,
	// in the order of the stream.
	Admit(b *capture.Batch)
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
}

// Pipeline takes the batches of a source through workers. A worker reads the bytes of a
// batch, while others do, as far as the source allows that. It finds the records in them
// when that is done for the batch before, prepares the batch, and leaves it at the first
// of two stages. At each stage one batch after another is dealt with, in their order. So
// a batch mostly stays in the caches of one core from its first byte to its last.
type Pipeline struct {
	src   capture.Source
	ended chan struct{} // closed when no worker of Each is left

	ctx      context.Context
	free     chan *slot
	stopping chan struct{} // closed when no more is to be done

	reserving sync.Mutex
	number    int // of the next batch

	reading sequencer

	mu           sync.Mutex
	progress     *sync.Cond // a worker is done with applying or writing
	apply, write orderedStage
	stopped      bool  // nothing more is applied
	unwritable   bool  // nothing more is written: that is the reason
	complete     bool  // err is how the stream ended
	err          error // why the pipeline stopped
}

// New makes a pipeline of a source, which belongs to it from then on.
func New(src capture.Source) *Pipeline {
	p := &Pipeline{src: src, ended: make(chan struct{}), stopping: make(chan struct{})}
	p.progress = sync.NewCond(&p.mu)
	p.reading.changed = sync.NewCond(&p.reading.mu)
	return p
}

// Run has so many workers, at least one, take every batch through tasks. task makes a
// task for each batch that may be under way: one for one worker, else one more than
// there are workers. Each can be called once.
//
// It returns nil at the clean end of the stream, else the first of these: the error of
// ctx, what ended the source early, the error of Apply or of Write. After an error no
// task applies or writes anything any more. What was applied has been written, unless
// Write failed. An error of the source that does not name its input begins with "read".
func (p *Pipeline) Run(ctx context.Context, workers int, task func() Task) error {
	workers = max(workers, 1)
	slots := 1
	if workers > 1 {
		// One more than workers: a batch that waits for its turn holds nobody up.
		slots = workers + 1
	}
	p.ctx = ctx
	p.free = make(chan *slot, slots)
	p.apply.ready, p.write.ready = make([]*slot, slots), make([]*slot, slots)
	for range slots {
		p.free <- &slot{task: task()}
	}
	var working sync.WaitGroup
	for range workers {
		working.Go(p.work)
	}
	go func() {
		working.Wait()
		close(p.ended)
	}()
	select {
	case <-p.stopping:
	case <-ctx.Done():
		p.mu.Lock()
		p.stop(ctx.Err())
		p.mu.Unlock()
	}
	return p.wait()
}

// Close closes the source. It does not wait for a read that blocks, on a silent pipe for
// instance, and that goes on after Each: then the source is closed once that has ended.
func (p *Pipeline) Close() error {
	if p.ctx == nil { // Each was not called
		return p.src.Close()
	}
	select {
	case <-p.ended:
		return p.src.Close()
	default:
	}
	go func() {
		<-p.ended
		_ = p.src.Close() // nobody is left to be told
	}()
	return nil
}

// wait returns why the pipeline stopped, when nobody applies or writes any more.
func (p *Pipeline) wait() error {
	p.mu.Lock()
	for p.apply.busy || p.write.turn < p.apply.turn {
		p.progress.Wait()
	}
	complete, err := p.complete, p.err
	p.mu.Unlock()
	if complete {
		// Nobody is in a read, which else could take for ever.
		<-p.ended
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// stop lets nothing more be applied, and err be the reason unless there is one. It is
// called with p.mu.
func (p *Pipeline) stop(err error) {
	if !p.stopped {
		p.stopped, p.err = true, err
		close(p.stopping)
		p.reading.end()
	}
}

// work is what each worker does.
func (p *Pipeline) work() {
	for {
		var s *slot
		select {
		case s = <-p.free:
		case <-p.stopping:
			return
		}
		p.reserve(s)
		if !p.read(s) {
			return
		}
		if s.err == nil {
			s.task.Prepare(&s.batch)
		}
		p.deliver(s)
	}
}

// reserve gives a batch its number, and its piece of the input where the source is read
// in pieces.
func (p *Pipeline) reserve(s *slot) {
	p.reserving.Lock()
	s.number = p.number
	p.number++
	pieces, inPieces := p.src.(capture.Preloader)
	if inPieces {
		pieces.Reserve(&s.batch)
	}
	p.reserving.Unlock()
	if inPieces {
		pieces.ReadReserved(&s.batch)
	}
}

// read reads the batch, or what ended the stream, unless that was an earlier one.
func (p *Pipeline) read(s *slot) bool {
	if !p.reading.wait(s.number) {
		return false
	}
	if s.err = p.src.Next(&s.batch); s.err == nil {
		if a, ok := s.task.(Admitter); ok {
			a.Admit(&s.batch)
		}
	}
	p.reading.done(s.err != nil)
	return true
}

// applyOne does what depends on the batches before, or returns what came in place of
// a batch.
func (p *Pipeline) applyOne(s *slot) error {
	switch {
	case p.ctx.Err() != nil:
		return p.ctx.Err()
	case errors.Is(s.err, io.EOF), capture.IsUnread(s.err):
		return s.err
	case s.err != nil:
		return fmt.Errorf("read: %w", s.err)
	}
	return s.task.Apply(&s.batch)
}
