// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/flowdedup/flowdedup/capture"
)

// Task is the work on a batch at a time. None of its methods may keep the batch.
type Task interface {
	// Prepare does work that needs no other batch. Other tasks prepare, judge or write their batches
	// meanwhile.
	Prepare(b *capture.Batch)
	// Judge does work that depends on the batches before. Calls to all tasks come in the order of the
	// stream, though not always on the same goroutine.
	Judge(b *capture.Batch) error
	// Write passes on the result of a batch that was judged. Calls come in the same
	// order, while later batches are judged.
	Write(b *capture.Batch) error
}

// Admitter is a Task that sees each batch before it is prepared.
type Admitter interface {
	Task
	// Admit is called when a batch has been read, in the order of the stream.
	Admit(b *capture.Batch)
}

// Finisher is a Task that keeps something back from batch to batch.
type Finisher interface {
	Task
	// Finish passes on the rest. It is called on any one of the tasks, after the last Write,
	// however the stream ended, unless a Write failed.
	Finish() error
}

// Abandoner is a Task whose Write may hang.
type Abandoner interface {
	Task
	// GiveUp returns a channel. Once it is closed, after the pipeline has stopped, Run no
	// longer waits for a Write. That Write may still return later, and nothing follows it.
	GiveUp() <-chan struct{}
}

// InOrder is a Task whose work is all in order.
type InOrder func(b *capture.Batch) error

// Prepare does nothing.
func (InOrder) Prepare(*capture.Batch) {}

// Judge calls f.
func (f InOrder) Judge(b *capture.Batch) error { return f(b) }

// Write does nothing.
func (InOrder) Write(*capture.Batch) error { return nil }

// slot is the memory for a batch and the work on it.
type slot struct {
	batch  capture.Batch
	task   Task
	number int   // of the batch in the stream
	err    error // the error that ended the stream
}

// Pipeline takes the batches of a source through workers. A worker reads the bytes of a
// batch, in parallel with others if the source is a capture.Preloader. After the batch
// before, it finds the records in them. It prepares the batch, and delivers it to the first
// of two ordered stages. The worker that delivers the next batch of a stage runs the stage.
// So a batch mostly stays in the caches of a core. After its write it is given back to a
// capture.Lender. While a capture.LiveSource is not behind, a single worker does all.
type Pipeline struct {
	src       capture.Source
	preloader capture.Preloader  // src, or nil
	live      capture.LiveSource // src, or nil; not with a preloader
	lender    capture.Lender     // src, or nil
	ended     chan struct{}      // closed when no worker of Run is left

	ctx      context.Context
	free     chan *slot
	stopping chan struct{} // closed when no more is to be done

	reserving sync.Mutex
	reserved  int // chunks of a Preloader

	reading sequencer

	mu           sync.Mutex
	progress     *sync.Cond // a worker is done with judging or writing
	judge, write orderedStage
	stopped      bool  // nothing more is judged
	unwritable   bool  // nothing more is written: that is the reason
	abandoned    bool  // a Write that hangs is not waited for
	complete     bool  // err is how the stream ended
	err          error // why the pipeline stopped
}

// New makes a pipeline of a source, which it then owns.
func New(src capture.Source) *Pipeline {
	p := &Pipeline{src: src, ended: make(chan struct{}), stopping: make(chan struct{})}
	var reserves bool
	if p.preloader, reserves = src.(capture.Preloader); !reserves {
		p.live, _ = src.(capture.LiveSource)
	}
	p.lender, _ = src.(capture.Lender)
	p.progress = sync.NewCond(&p.mu)
	p.reading.changed = sync.NewCond(&p.reading.mu)
	return p
}

// Run takes every batch through tasks, with at least one worker. It calls task for each
// batch that may be in flight: once for one worker, else two times more than there are
// workers. Run can be called once.
//
// It returns nil at the clean end of the stream, or if io.EOF is the cause of the end of ctx, else the
// first error: of ctx, of the source, of Judge or of Write, joined with the error of Finish. After it
// no task judges or writes anything, unless an Abandoner was left behind. Judged batches have been written and
// finished, unless Write failed or was left behind. An error of the source that does not name
// its input begins with "read".
func (p *Pipeline) Run(ctx context.Context, workers int, task func() Task) error {
	workers = max(workers, 1)
	slots := 1
	if workers > 1 {
		// No worker waits while a batch waits for its turn and a second batch is written.
		slots = workers + 2
	}
	p.ctx = ctx
	p.reading.spins = workers > 1 && workers <= runtime.GOMAXPROCS(0)
	p.free = make(chan *slot, slots)
	p.judge.ready, p.write.ready = make([]*slot, slots), make([]*slot, slots)
	var last Task
	for range slots {
		last = task()
		p.free <- &slot{task: last}
	}
	abandoner, _ := last.(Abandoner)
	if abandoner != nil {
		p.live = nil // the batches after a Write that hangs are read
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
		p.stop(p.canceled())
		p.mu.Unlock()
	}
	if abandoner != nil {
		left := make(chan struct{})
		defer close(left)
		go p.abandon(abandoner.GiveUp(), left)
	}
	err := p.wait()
	if f, ok := last.(Finisher); ok && !p.unwritable {
		if failed := f.Finish(); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// Close closes the source. It does not wait for a read that blocks after Run, on a silent
// pipe for instance: the source then closes when the read ends.
func (p *Pipeline) Close() error {
	if p.ctx == nil { // Run was not called
		return p.src.Close()
	}
	select {
	case <-p.ended:
		return p.src.Close()
	default:
	}
	go func() {
		<-p.ended
		_ = p.src.Close() // Run has returned
	}()
	return nil
}

// abandon ends writing when giveUp is closed, unless Run has returned.
func (p *Pipeline) abandon(giveUp, left <-chan struct{}) {
	select {
	case <-left:
	case <-giveUp:
		p.mu.Lock()
		p.abandoned = true
		p.progress.Broadcast()
		p.mu.Unlock()
	}
}

// wait waits until no worker judges or writes, and returns why the pipeline stopped. It
// leaves a Write behind if that is abandoned.
func (p *Pipeline) wait() error {
	p.mu.Lock()
	for p.judge.busy || p.write.turn < p.judge.turn {
		if p.abandoned && p.write.busy {
			defer p.mu.Unlock()
			p.unwritable = true
			return p.err
		}
		p.progress.Wait()
	}
	complete, err := p.complete, p.err
	p.mu.Unlock()
	if complete {
		// No worker is in a read, which could last forever otherwise.
		<-p.ended
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// stop ends judging; err is the reason unless judging has ended already. The caller holds p.mu.
func (p *Pipeline) stop(err error) {
	if !p.stopped {
		p.stopped, p.err = true, err
		close(p.stopping)
		p.reading.end()
	}
}

// work is the loop of each worker.
func (p *Pipeline) work() {
	var s *slot
	for free, turn := false, false; ; {
		if !free {
			select {
			case s = <-p.free:
			case <-p.stopping:
				return
			}
		}
		if !p.takeTurn(s, turn) {
			return
		}
		p.read(s)
		if turn = p.keepsTurn(s); !turn {
			p.reading.pass(s.err != nil)
		}
		if s.err == nil {
			s.task.Prepare(&s.batch)
		}
		if turn && !p.keepsTurn(s) {
			turn = false
			p.reading.pass(false)
		}
		free = p.deliver(s)
	}
}

// takeTurn waits until it is the worker's turn to read a batch, which gets its number,
// unless the worker has kept the turn. The chunk of a Preloader is read meanwhile. It
// returns false if the stream has ended.
func (p *Pipeline) takeTurn(s *slot, kept bool) (ok bool) {
	if p.preloader == nil {
		s.number, ok = p.reading.take(kept)
		return ok
	}
	p.reserving.Lock()
	s.number = p.reserved
	p.reserved++
	p.preloader.Reserve(&s.batch)
	p.reserving.Unlock()
	p.preloader.ReadReserved(&s.batch)
	return p.reading.waitFor(s.number)
}

// read reads the batch, or the error that ended the stream.
func (p *Pipeline) read(s *slot) {
	if s.err = p.src.Next(&s.batch); s.err != nil {
		return
	}
	if a, ok := s.task.(Admitter); ok {
		a.Admit(&s.batch)
	}
}

// keepsTurn reports whether the worker that has read a batch keeps its turn until it has
// delivered it: few packets wait to be read. To wake a second worker, and to fill its caches,
// would take longer than most such batches.
func (p *Pipeline) keepsTurn(s *slot) bool {
	return p.live != nil && s.err == nil && !p.live.Behind()
}

// canceled returns why ctx is done: io.EOF, or its error.
func (p *Pipeline) canceled() error {
	if errors.Is(context.Cause(p.ctx), io.EOF) {
		return io.EOF
	}
	return p.ctx.Err()
}

// judgeOne judges a batch, or returns the error that came in its place.
func (p *Pipeline) judgeOne(s *slot) error {
	switch {
	case p.ctx.Err() != nil:
		return p.canceled()
	case errors.Is(s.err, io.EOF), capture.IsUnread(s.err):
		return s.err
	case s.err != nil:
		return fmt.Errorf("read: %w", s.err)
	}
	return s.task.Judge(&s.batch)
}
