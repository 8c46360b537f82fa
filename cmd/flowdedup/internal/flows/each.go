// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

const (
	// readTimeout is how long a run that was asked to end waits for a read that is under way.
	readTimeout = 400 * time.Millisecond
	// lastReads is how long such a run still judges the messages in its sockets, and
	// leastReads how many it judges in any case, as the machine may be busy. The rest is
	// counted as dropped.
	lastReads  = 500 * time.Millisecond
	leastReads = 1000
)

// each judges batches. Messages in sockets when ctx is done are still read.
func (r *runner) each(ctx context.Context) error {
	batch := new(records.Batch)
	read := func() (error, bool) { return r.reader.ReadBatch(batch), true }
	if !r.cfg.live() {
		next := make(chan struct{})
		defer close(next)
		read = r.readBeside(ctx, batch, next)
	}
	for {
		err, came := read()
		if came {
			r.note()
		}
		if !came || errors.Is(err, io.EOF) {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		r.tick(time.Now())
		if err := r.take(batch); err != nil {
			return err
		}
		if ctx.Err() != nil && r.isOver(time.Now()) {
			return ctx.Err()
		}
	}
}

// readBeside returns a function that reads a batch of inputs, which may block, unlike sockets: these
// end with ctx. So a goroutine reads, until next is closed. It ends with the process if it blocks for
// ever.
func (r *runner) readBeside(ctx context.Context, batch *records.Batch, next chan struct{}) func() (error, bool) {
	done := make(chan error, 1)
	go func() {
		for range next {
			done <- r.reader.ReadBatch(batch)
		}
	}()
	return func() (error, bool) {
		next <- struct{}{}
		return await(ctx, done)
	}
}

// isOver reports whether a run that was asked to end may end: a live one first has some time
// for the messages in its sockets. The rest is counted.
func (r *runner) isOver(now time.Time) bool {
	switch {
	case !r.cfg.live():
		return true
	case r.until.IsZero():
		r.until = now.Add(r.lastReads)
	}
	if r.reads++; r.reads < leastReads || now.Before(r.until) {
		return false
	}
	r.unread = r.messages.Discard(now.Add(readTimeout))
	return true
}

// note remembers the counts of the reader. It must not be called during a read.
func (r *runner) note() {
	before := r.counts.Unread
	r.counts = r.reader.Counts()
	if r.messages != nil {
		r.readerBytes = r.messages.Bytes()
	}
	r.noteUnread(before)
	r.noteDamage()
}

// await returns the outcome of a read. When ctx is done, it waits for readTimeout.
func await(ctx context.Context, done <-chan error) (err error, came bool) {
	select {
	case err = <-done:
		return err, true
	case <-ctx.Done():
	}
	select {
	case err = <-done:
		return err, true
	case <-time.After(readTimeout):
		return nil, false
	}
}
