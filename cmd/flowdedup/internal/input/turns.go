package input

import "sync"

// turns lets one worker after another do something, in the order of their batches.
type turns struct {
	mu      sync.Mutex
	changed *sync.Cond
	next    int // whose turn it is
	ended   bool
}

// wait waits for a batch's turn, and returns false if it does not come any more.
func (t *turns) wait(number int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.next != number && !t.ended {
		t.changed.Wait()
	}
	return !t.ended
}

// done passes the turn on, or tells that it was the last one.
func (t *turns) done(last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	t.ended = t.ended || last
	t.changed.Broadcast()
}

// end lets nobody have a turn any more.
func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.changed.Broadcast()
}
