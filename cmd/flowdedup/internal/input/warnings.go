package input

import "sync"

// warnings passes on warnings of damage that did not end an input, and
// remembers that there were any. The reading goroutine may be in the middle of
// a read when the stream is closed; nothing is told from then on.
type warnings struct {
	mu        sync.Mutex
	emit      func(error)
	hadDamage bool
	ended     bool
}

func (w *warnings) warn(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.hadDamage = true
	w.emit(err)
}

// note tells of what is no damage.
func (w *warnings) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.emit(err)
	}
}

func (w *warnings) damaged() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hadDamage
}

func (w *warnings) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}
