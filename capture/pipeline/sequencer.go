package pipeline

import "sync"

// sequencer lets one worker after another do something, in the order of their batches.
type sequencer struct {
	mu      sync.Mutex
	changed *sync.Cond
	next    int // whose turn it is
	ended   bool
}

// wait waits for a batch's turn, and returns false if it does not come any more.
func (q *sequencer) wait(number int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.next != number && !q.ended {
		q.changed.Wait()
	}
	return !q.ended
}

// done passes the turn on, or tells that it was the last one.
func (q *sequencer) done(last bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next++
	q.ended = q.ended || last
	q.changed.Broadcast()
}

// end lets nobody have a turn any more.
func (q *sequencer) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.changed.Broadcast()
}
