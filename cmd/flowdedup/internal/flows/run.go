// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
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

// runner takes records from the inputs to the judging, and shows what came of them. Inputs and
// judging know neither the runner nor each other.
type runner struct {
	cfg       *config
	in        inputs
	judging   judging
	state     *state // nil for none
	begin     time.Time
	statusAt  time.Time     // when the status was last reported
	lastReads time.Duration // lastReads, and 0 in a test
	turn      sync.Mutex    // held while batches are judged, and guards left
	left      bool          // a read that did not end was left behind
	until     time.Time     // end of lastReads; zero before the run was asked to end
	reads     int           // reads since then
}

// run judges records until the inputs end or ctx is done. The summary is valid with every
// error, and has no policy if nothing was opened.
func run(ctx context.Context, cfg *config) (summary, error) {
	return newRunner(cfg, lastReads).run(ctx)
}

func newRunner(cfg *config, lastReads time.Duration) *runner {
	return &runner{cfg: cfg, in: inputs{cfg: cfg}, judging: judging{cfg: cfg}, begin: time.Now(), lastReads: lastReads}
}

func (r *runner) run(ctx context.Context) (summary, error) {
	defer func() {
		r.in.close()
		if r.state != nil {
			_ = r.state.lock.Unlock() // another run may use the file
		}
	}()
	if err := r.open(ctx); err != nil {
		return summary{}, errors.Join(err, r.judging.close(false))
	}
	err := r.each(ctx)
	err = errors.Join(err, r.judging.flush(!errors.Is(err, sink.ErrOutput)))
	clean := err == nil || r.cfg.live() && errors.Is(err, context.Canceled)
	if capture.IsDamage(err) {
		r.in.damaged.Store(true)
	}
	s := r.summary()
	if r.state != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = errors.Join(err, r.state.saveLast(r.judging.match, r.in.messages))
	}
	err = errors.Join(err, r.judging.close(clean && !s.Damaged))
	s.Elsewhere = r.judging.output.elsewhere()
	return s, err
}

// open opens inputs, state and outputs.
func (r *runner) open(ctx context.Context) (err error) {
	cfg := r.cfg
	cfg.Match.Memory = cfg.shares().judge
	if err := r.in.open(ctx); err != nil {
		return err
	}
	cfg.Match.MayBiflow, cfg.Match.Archives = !cfg.KeyGiven, !cfg.live()
	cfg.Match.Key.Biflow = cfg.Match.Key.Biflow || r.in.both && !cfg.KeyGiven
	if cfg.State != "" {
		if r.state, err = openState(cfg); err != nil {
			return err
		}
		if r.judging.match, err = r.state.resume(r.in.messages); err != nil {
			return err
		}
	}
	return r.judging.open(ctx, r.in.names)
}

// each judges batches until the inputs end, or ctx is done. Inputs may block for ever, unlike sockets,
// which end with ctx: so a goroutine reads and judges. Where its last read does not end, it is left
// behind, and ends with the process.
func (r *runner) each(ctx context.Context) error {
	done, timeout := make(chan error, 1), make(<-chan time.Time)
	go func() {
		r.turn.Lock()
		defer r.turn.Unlock()
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
	r.turn.Lock() // it reads, or has ended
	defer r.turn.Unlock()
	r.left = true
	select {
	case err := <-done:
		return err
	default:
		return ctx.Err()
	}
}

// judgeAll judges batches, and releases r.turn during reads. Messages in sockets when ctx is done
// are still read.
func (r *runner) judgeAll(ctx context.Context) error {
	for batch := new(records.Batch); ; {
		r.turn.Unlock()
		err := r.in.reader.ReadBatch(batch)
		r.turn.Lock()
		if r.left {
			return nil
		}
		r.in.note()
		if errors.Is(err, io.EOF) {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		r.tick(time.Now())
		if err := r.judging.take(batch); err != nil {
			return err
		}
		if ctx.Err() != nil && r.isOver(time.Now()) {
			return ctx.Err()
		}
	}
}

// isOver reports whether a run that was asked to end may end: a live run first has some time
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
	r.in.left = r.in.messages.Discard(now.Add(readTimeout))
	return true
}

// tick does the work that depends on the wall clock.
func (r *runner) tick(now time.Time) {
	if r.state != nil {
		r.state.save(now, r.judging.match, r.in.messages)
	}
	if r.cfg.Status == nil || now.Sub(r.statusAt) < time.Second {
		return
	}
	r.statusAt = now
	s := r.summary()
	r.cfg.Status(&s)
}

// summary returns the summary so far.
func (r *runner) summary() summary {
	s := newSummary(r.cfg, &r.in, &r.judging, time.Since(r.begin))
	if r.state != nil && r.state.failed != "" {
		s.Failing = append(s.Failing, "state "+r.cfg.State+": "+r.state.failed)
	}
	return s
}
