// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"sync"
	"sync/atomic"
	"time"
)

// orderedStage is work on batch after batch, in the order of the stream. The worker
// that delivers the next batch does it, and goes on with the ready batches after it.
type orderedStage struct {
	ready []*slot // by their number modulo len(ready)
	turn  int     // the number of the batch that is next
	busy  bool    // a worker is at it
}

func (g *orderedStage) put(s *slot) { g.ready[s.number%len(g.ready)] = s }

// next takes the batch whose turn it is, or returns nil if it is not there.
func (g *orderedStage) next() *slot {
	place := &g.ready[g.turn%len(g.ready)]
	s := *place
	*place = nil
	return s
}

// deliver puts a batch in its place, then judges and writes the batches whose turn it is.
// It reports whether the slot is free again. Then the worker takes its next batch there,
// since it has that memory in its caches.
func (p *Pipeline) deliver(s *slot) (free bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge.put(s)
	if !p.judge.busy {
		p.judgeReady()
	}
	if !p.write.busy {
		free = p.writeReady(s)
	}
	p.progress.Broadcast()
	return free
}

// judgeReady judges the ready batches. The caller holds p.mu, which it releases while it
// works.
func (p *Pipeline) judgeReady() {
	for !p.stopped {
		s := p.judge.next()
		if s == nil {
			return
		}
		p.judge.busy = true
		p.mu.Unlock()
		err := p.judgeOne(s)
		p.mu.Lock()
		p.judge.busy = false
		p.complete = s.err != nil
		if err != nil {
			p.stop(err)
			return
		}
		p.judge.turn++
		p.write.put(s)
	}
}

// writeReady writes judged batches. Only a failed write ends that: judged batches are written,
// whatever else has stopped the pipeline. It frees their slots, except the caller's: it reports
// whether that could be free.
func (p *Pipeline) writeReady(own *slot) (free bool) {
	for {
		s := p.write.next()
		if s == nil {
			return free
		}
		if !p.unwritable {
			p.write.busy = true
			p.mu.Unlock()
			err := s.task.Write(&s.batch)
			if p.lender != nil {
				p.lender.GiveBack(&s.batch)
			}
			p.mu.Lock()
			p.write.busy = false
			if err != nil && !p.unwritable {
				// A later batch may have been the last, or damaged.
				p.stop(err)
				p.unwritable, p.err = true, err
			}
		}
		p.write.turn++
		if s == own {
			free = true
			continue
		}
		p.free <- s
	}
}

// sequencer gives worker after worker the turn to read a batch.
type sequencer struct {
	spins   bool         // waitFor spins: each worker has a processor
	skip    atomic.Int32 // how many calls of waitFor do not
	mu      sync.Mutex
	changed *sync.Cond
	next    atomic.Int64 // the number of the batch that is next; written under mu
	taken   bool         // a worker has the turn; not used by waitFor
	ended   bool         // there are no more turns
}

const (
	// spinTime is how long waitFor spins. Most turns are over by then. A worker that sleeps
	// instead is woken late, and mostly on the processor of another worker, whose caches do
	// not have its chunk: that takes longer than the work on a batch.
	spinTime = 50 * time.Microsecond
	// vainSkips is how many calls of waitFor sleep at once after a call that spun without success.
	// The worker with the turn had no processor, as on a busy machine. To spin again would keep the
	// processor from it.
	vainSkips = 8
)

// waitFor waits until the batch of that number is next, and returns false if there are no
// more turns.
func (q *sequencer) waitFor(number int) bool {
	if q.spins && q.skip.Add(-1) < 0 {
		q.skip.Store(q.spin(int64(number)))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.next.Load() != int64(number) && !q.ended {
		q.changed.Wait()
	}
	return !q.ended
}

// spin waits until a batch is next, but not for long. It returns the number of following waits that
// sleep at once.
func (q *sequencer) spin(number int64) (skip int32) {
	const loads = 64 // between two looks at the clock
	for begin := time.Now(); time.Since(begin) < spinTime; {
		for range loads {
			if q.next.Load() == number {
				return 0
			}
		}
	}
	return vainSkips
}

// take waits until no other worker has the turn, unless the caller has kept it, and returns
// the number of its batch. It returns false if there are no more turns.
func (q *sequencer) take(kept bool) (number int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if kept {
		q.next.Add(1)
	}
	for q.taken && !kept && !q.ended {
		q.changed.Wait()
	}
	q.taken = true
	return int(q.next.Load()), !q.ended
}

// pass passes the turn on, or ends all turns if it was the last.
func (q *sequencer) pass(last bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next.Add(1)
	q.ended = q.ended || last
	if q.taken && !last {
		q.taken = false
		q.changed.Signal()
		return
	}
	q.changed.Broadcast()
}

// end ends all turns.
func (q *sequencer) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.changed.Broadcast()
}
