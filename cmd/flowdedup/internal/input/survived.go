package input

import "sync"

// survived passes on warnings of damage that did not end an input, and
// remembers that there were any. The reading goroutine may be in the middle of
// a read when the stream is closed; nothing is told from then on.
type survived struct {
	mu    sync.Mutex
	tell  func(error)
	told  bool
	ended bool
}

func (s *survived) warn(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.told = true
	s.tell(err)
}

// note tells of what is no damage.
func (s *survived) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.tell(err)
	}
}

func (s *survived) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told
}

func (s *survived) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}
