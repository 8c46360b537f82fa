// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"fmt"
	"slices"
	"time"
)

// sayEvery is the least time between warnings of refusals.
const sayEvery = time.Minute

// refusals are the refused connections of a listener, which may be many.
type refusals struct {
	next  time.Time
	quiet int // since the last warning
}

// say calls warn with the number of refusals since the last warning, unless that was less than
// sayEvery ago.
func (r *refusals) say(now time.Time, warn func(more int)) {
	if now.Before(r.next) {
		r.quiet++
		return
	}
	warn(r.quiet)
	r.next, r.quiet = now.Add(sayEvery), 0
}

// warnRefused warns of a refused peer.
func (r *Receiver) warnRefused(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refusals.say(time.Now(), func(more int) {
		if more > 0 {
			err = fmt.Errorf("%w (and %d more since)", err, more)
		}
		r.cfg.Warn(err)
	})
}

// listens notes a stream without a header. It returns the stream that must end for it, nil if
// there is room.
func (r *Receiver) listens(s *stream) (excess *stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.silent) >= maxSilent {
		of := map[string]int{}
		for _, other := range r.silent {
			of[other.host]++
		}
		for _, other := range r.silent { // the oldest first
			if excess == nil || of[other.host] > of[excess.host] {
				excess = other
			}
		}
	}
	r.silent = append(r.silent, s)
	return excess
}

// speaks notes that the header of a stream has come. It returns an error if too many are
// read already.
func (r *Receiver) speaks(s *stream) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.places)-len(r.silent) >= maxStreams {
		return fmt.Errorf("%s: %w: %d streams are read already", s.name, errTooMany, maxStreams)
	}
	r.silent = slices.DeleteFunc(r.silent, func(other *stream) bool { return other == s })
	return nil
}
