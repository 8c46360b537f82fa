// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dustin/go-humanize/english"
)

// Commit completes all outputs after a clean end.
func (s *Set) Commit() error {
	return s.end(func(o *output) func() error {
		if o.ended() {
			return func() error { return o.keep(false) }
		}
		return o.commit
	})
}

// Keep ends all outputs after an unclean end. Existing files stay as they were, and the output
// is kept. The error is a *KeptError if its name is not the given name. An output that is cut
// short by the failure of a different output gets a partial name.
func (s *Set) Keep() error {
	cut := slices.ContainsFunc(s.outputs, (*output).ended)
	return s.end(func(o *output) func() error { return func() error { return o.keep(cut) } })
}

// Discard ends all outputs of a run that read nothing.
func (s *Set) Discard() error {
	return s.end(func(o *output) func() error { return o.discard })
}

// end ends all outputs side by side, so that a blocked output delays no other. how chooses the call
// that ends an output, which may go on after end. end returns the losses of each and their reasons.
func (s *Set) end(how func(*output) func() error) error {
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
		over := giveUp
		if o.direct {
			over = s.unsynced
		}
		call := how(o)
		ending.Go(func() { errs[i] = o.do(over, call) })
	}
	ending.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []error
	for i, o := range s.outputs {
		for _, log := range s.last[o.name] {
			log()
		}
		o.update(errs[i])
		o.settle(errs[i])
		o.stop()
		all = append(all, s.endError(o, errs[i]))
	}
	return errors.Join(all...)
}

// endError returns the final error of an output. err is the result of the call that ended it.
func (s *Set) endError(o *output, err error) error {
	var kept *KeptError
	lost := fmt.Sprintf("%d %s lost", o.missing(), english.PluralWord(int(o.missing()), "packet", ""))
	switch {
	case s.cfg.Live && o.reason != nil && (o.failed != nil || o.missing() > 0):
		loss := fmt.Errorf("%w (%s)", o.reason, lost)
		if o.failed == nil { // the reason holds no more, so the error does not wrap it
			loss = fmt.Errorf("%s until the output worked again, after: %v", lost, o.reason)
		}
		if err != nil && err.Error() != o.reason.Error() {
			return errors.Join(failure(loss), failure(err))
		}
		return failure(loss)
	case s.cfg.Live && o.failed != nil && o.missing() > 0:
		return errors.Join(failure(err), failure(fmt.Errorf("%s: %s", o.displayName(), lost)))
	case errors.As(err, &kept) && kept.Err == nil:
		return kept
	}
	return failure(err)
}

// warner returns a function that logs warnings about a file of an output. While outputs end side by
// side, end logs them in the order of the outputs, the same in each run.
func (s *Set) warner(output, file string) func(error) {
	return func(err error) {
		log := func() { s.cfg.Log.Warn(file, "error", err) }
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ending {
			s.last[output] = append(s.last[output], log)
			return
		}
		log()
	}
}
