package sink

import (
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// destination takes packets: all of a batch but those in drop.
type destination interface {
	Write(b *capture.Batch, drop []uint64) error
	// commit completes what was written, keep ends it where it is, and discard takes it
	// back; one of them is called, once.
	commit() error
	keep() error
	discard() error
	// counts returns what has become of the packets so far.
	counts() counts
	// retries reports whether it can be written to again after it has failed.
	retries() bool
}

// counts says what has become of packets that a destination was given.
type counts struct {
	written uint64 // packets that left the program, or are in a file
	lost    uint64 // packets that never will
	files   uint64 // complete ones, where it rotates
	skipped uint64 // blocks that could not be carried over
}

// Kept says where the packets of an output are that has not got its name, since the run
// did not end well, or for a reason of its own.
type Kept struct {
	Name, File string
	Err        error // nil where the run tells why
}

// Error names both files.
func (k *Kept) Error() string {
	if k.Err != nil {
		return fmt.Sprintf("%v; what was processed is in %s", k.Err, k.File)
	}
	return fmt.Sprintf("%s was not written; what was processed is in %s", k.Name, k.File)
}

// Unwrap returns the reason.
func (k *Kept) Unwrap() error { return k.Err }

// output is one destination, and what has become of it.
type output struct {
	destination
	*calls  // nil where no call blocks
	name    string
	removed bool // it takes the packets removed

	given amount
	counts
	failed      error  // why nothing goes there now
	reason      error  // the first reason why something did not go there
	writtenThen uint64 // counts.written when it failed the last time
}

// ended reports whether nothing will go there any more.
func (o *output) ended() bool {
	return o.failed != nil && (!o.retries() || errors.Is(o.failed, ErrBlocked))
}

// update takes in the counts after a call; one that still blocks tells none.
func (o *output) update(err error) {
	if !errors.Is(err, ErrBlocked) {
		o.counts = o.destination.counts()
	}
}

// missing returns how many packets of those that it was given will never be there.
func (o *output) missing() uint64 {
	if o.ended() {
		return o.given.packets - min(o.written, o.given.packets)
	}
	return min(o.lost, o.given.packets)
}

// amount is the size of a part of a batch; bytes are captured ones.
type amount struct{ packets, bytes uint64 }

func (a *amount) add(b amount) {
	a.packets += b.packets
	a.bytes += b.bytes
}

// amountOf adds up the frames of b whose bit is set.
func amountOf(b *capture.Batch, set []uint64) (a amount) {
	for w, word := range set {
		a.packets += uint64(bits.OnesCount64(word))
		for ; word != 0; word &= word - 1 {
			a.bytes += uint64(b.Frames[w*64+bits.TrailingZeros64(word)].CapLen)
		}
	}
	return a
}

// calls runs what may block on a goroutine of its own, one call at a time.
type calls struct {
	name    string
	next    chan func() error
	done    chan error
	blocked bool
}

func newCalls(name string) *calls {
	c := &calls{name: name, next: make(chan func() error), done: make(chan error, 1)}
	go func() {
		for f := range c.next {
			c.done <- f()
		}
	}()
	return c
}

// grace is how long each call may take when patience is over: one that does not block
// takes less.
const grace = 100 * time.Millisecond

// do returns what f returns, or ErrBlocked if giveUp is closed before. Then f goes on
// for as long as the process does, and nothing is called any more.
func (c *calls) do(giveUp <-chan struct{}, f func() error) error {
	if c == nil {
		return f()
	}
	if c.blocked {
		return fmt.Errorf("%s: %w", c.name, ErrBlocked)
	}
	c.next <- f
	select {
	case err := <-c.done:
		return err
	case <-giveUp:
	}
	select {
	case err := <-c.done:
		return err
	case <-time.After(grace):
		c.blocked = true
		return fmt.Errorf("%s: %w", c.name, ErrBlocked)
	}
}

// stop ends the goroutine when it is done.
func (c *calls) stop() {
	if c != nil {
		close(c.next)
	}
}
