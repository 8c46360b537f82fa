package sink

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Commit completes all outputs after a clean end.
func (s *Set) Commit() error {
	return s.end(func(o *output) error {
		if o.ended() {
			return o.keep()
		}
		return o.commit()
	})
}

// Keep ends all outputs after an unclean end. Existing files stay as they were, and what
// was written is kept. The error is a *KeptError if that has another name.
func (s *Set) Keep() error { return s.end(func(o *output) error { return o.keep() }) }

// Discard ends all outputs of a run that read nothing.
func (s *Set) Discard() error { return s.end(func(o *output) error { return o.discard() }) }

// end ends all outputs side by side, so that a blocked one delays no other. It returns
// what each lost and why.
func (s *Set) end(how func(*output) error) error {
	giveUp := s.giveUp
	select {
	case <-giveUp:
		over := make(chan struct{})
		time.AfterFunc(endTimeout, func() { close(over) })
		giveUp = over
	default:
	}
	errs := make([]error, len(s.outputs))
	hanging := s.beginEnd()
	var ending sync.WaitGroup
	for i, o := range s.outputs {
		if o == hanging {
			errs[i] = o.blockedError()
			continue
		}
		ending.Go(func() { errs[i] = o.do(giveUp, func() error { return how(o) }) })
	}
	ending.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []error
	for i, o := range s.outputs {
		o.update(errs[i])
		o.stop()
		all = append(all, s.endError(o, errs[i]))
	}
	return errors.Join(all...)
}

// endError returns the final error of an output. err is that of the call that ended it.
func (s *Set) endError(o *output, err error) error {
	var kept *KeptError
	switch {
	case s.cfg.Live && o.reason != nil:
		loss := fmt.Errorf("%w (%d packets lost)", o.reason, o.missing())
		if err != nil && err.Error() != o.reason.Error() {
			return errors.Join(failure(loss), failure(err))
		}
		return failure(loss)
	case errors.As(err, &kept) && kept.Err == nil:
		return kept
	}
	return failure(err)
}
