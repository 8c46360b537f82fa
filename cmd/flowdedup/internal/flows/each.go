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

// each judges batches until the inputs end, or ctx is done. Inputs may block for ever, unlike sockets,
// which end with ctx: so a goroutine reads and judges. Where its last read does not end, it is left
// behind, and ends with the process.
func (r *runner) each(ctx context.Context) error {
	done, timeout := make(chan error, 1), make(<-chan time.Time)
	go func() {
		r.judging.Lock()
		defer r.judging.Unlock()
		done <- r.judgeAll(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		if !r.cfg.live() {
			timeout = time.After(readTimeout)
		}
	}
	select {
	case err := <-done:
		return err
	case <-timeout:
	}
	r.judging.Lock() // it reads, or has ended
	defer r.judging.Unlock()
	r.left = true
	select {
	case err := <-done:
		return err
	default:
		return ctx.Err()
	}
}

// judgeAll judges batches, and releases r.judging during reads. Messages in sockets when ctx is done
// are still read.
func (r *runner) judgeAll(ctx context.Context) error {
	for batch := new(records.Batch); ; {
		r.judging.Unlock()
		err := r.reader.ReadBatch(batch)
		r.judging.Lock()
		if r.left {
			return nil
		}
		r.note()
		if errors.Is(err, io.EOF) {
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
