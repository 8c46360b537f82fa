package netio

import "time"

// sayEvery is how often refusals are warned about: the first at once, then their number.
const sayEvery = time.Minute

// refusals are those of one listener, which may be many.
type refusals struct {
	next  time.Time
	quiet int // since the last warning
}

// say calls warn with how many refusals there were in silence, unless one was warned about
// lately.
func (r *refusals) say(now time.Time, warn func(more int)) {
	if now.Before(r.next) {
		r.quiet++
		return
	}
	warn(r.quiet)
	r.next, r.quiet = now.Add(sayEvery), 0
}
