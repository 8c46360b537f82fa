package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/rotate"
)

// Config names the outputs of a run. Names are checked by the caller; "" is no output.
type Config struct {
	// Kept and Removed are files, or "-", for the packets kept and for those removed.
	Kept, Removed string
	// Forward is an interface that those kept are sent to. Retry has it tried again
	// and again while it is down or away.
	Forward string
	Retry   bool
	// Rotate makes several files of each, where it has a size or an interval.
	Rotate rotate.Options
	// Live is for runs without end: a file has its name from the start and others can
	// read what it has got up to a second ago; one that exists is never touched; and an
	// output that fails does not stop the others.
	Live bool
	// Inputs are the files that are read, one of which Kept may replace.
	Inputs []string
	// Stop ends the run when the reader of a pipe has left, in live runs.
	Stop func()
	Log  *slog.Logger // nil tells nobody
}

// None reports whether there is no output at all, so that packets may stay where they
// were captured.
func (c *Config) None() bool { return c.Kept == "" && c.Removed == "" && c.Forward == "" }

var (
	// ErrOutput is what failures of an output wrap.
	ErrOutput = errors.New("output failed")
	// ErrBlocked says that an output did not take what was written to it, when the run
	// was to end.
	ErrBlocked = errors.New("blocked, and ended without it")
)

// endTimeout is how long an output that blocks is waited for once the run is to end, and
// again until it is closed.
const endTimeout = 300 * time.Millisecond

// Set is the outputs of a run. Write and the calls that end it are for one goroutine.
type Set struct {
	cfg      Config
	outputs  []*output
	inverted []uint64
	giveUp   <-chan struct{} // closed when the run is to end and nobody waits any more

	mu sync.Mutex // over what Write counts, for List
}

// New makes a set of which nothing is open. ctx is done when the run is to end; then
// the patience with outputs that block ends as well.
func New(ctx context.Context, cfg Config) *Set {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Set{cfg: cfg, giveUp: closedAfter(ctx, endTimeout)}
}

// OpenFiles opens the files, so that what cannot be opened is told before any packet is
// read. A pipe opens when it has a reader; until then OpenFiles waits, or until ctx is
// done. After an error Discard is to be called.
func (s *Set) OpenFiles(ctx context.Context) error {
	cfg := &s.cfg
	for _, o := range []struct {
		name    string
		removed bool
	}{{cfg.Kept, false}, {cfg.Removed, true}} {
		if o.name == "" {
			continue
		}
		d, err := s.openFile(ctx, o.name, !o.removed)
		if err != nil {
			return err
		}
		s.outputs = append(s.outputs, &output{destination: d, name: o.name, removed: o.removed, calls: newCalls(o.name)})
	}
	return nil
}

// closedAfter returns a channel that is closed some time after ctx is done.
func closedAfter(ctx context.Context, d time.Duration) <-chan struct{} {
	over := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(d, func() { close(over) }) })
	return over
}

// openFile opens the file, or the first of several.
func (s *Set) openFile(ctx context.Context, name string, mayReplace bool) (destination, error) {
	if s.cfg.Rotate.Size > 0 || s.cfg.Rotate.Every > 0 {
		return s.openRotation(name)
	}
	opt := s.cfg.Rotate.Output
	open := outfile.Create
	if s.cfg.Live {
		open = outfile.CreateVisible
	} else if mayReplace {
		opt.Input = inputAt(name, s.cfg.Inputs)
	}
	file, err := open(ctx, name, opt)
	if err != nil {
		return nil, err
	}
	if s.cfg.Live && file.Name() != name {
		s.cfg.Log.Warn("the file exists and stays as it is", "output", name, "written", file.Name())
	}
	writer := pcapfile.NewWriter(file, pcapfile.WriterOptions{
		Merged: s.cfg.Rotate.Merged, Format: pcapfile.FormatOf(name),
		Warn: func(err error) { s.cfg.Log.Warn(name, "error", err) },
	})
	return &single{file: file, writer: writer, live: s.cfg.Live, log: s.cfg.Log}, nil
}

// inputAt describes the input that an output would replace, as it is now.
func inputAt(name string, inputs []string) os.FileInfo {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	for _, input := range inputs {
		if in, err := os.Stat(input); err == nil && os.SameFile(info, in) {
			return info
		}
	}
	return nil
}

// Write hands a batch and its verdicts, a bit for each packet that is a copy, to every
// output. The error is that of an output that ends the run: the first that fails, or in
// live runs the last.
func (s *Set) Write(b *capture.Batch, drop []uint64) error {
	if len(s.outputs) == 0 {
		return nil
	}
	s.inverted = capture.Complement(s.inverted, drop, len(b.Frames))
	kept, removed := trafficOf(b, s.inverted), trafficOf(b, drop)
	var errs []error
	for _, o := range s.outputs {
		verdicts, size := drop, kept
		if o.removed {
			verdicts, size = s.inverted, removed
		}
		if o.ended() {
			s.addMissed(o, size)
			continue
		}
		err := o.do(s.giveUp, func() error { return o.Write(b, verdicts) })
		errs = append(errs, s.written(o, size, err))
	}
	return errors.Join(errs...)
}

// addMissed notes packets for an output that takes none any more.
func (s *Set) addMissed(o *output, size traffic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.given.add(size)
}

// written notes what writing so much to an output has come to, and returns an error
// that ends the run.
func (s *Set) written(o *output, size traffic, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.given.add(size)
	o.update(err)
	switch {
	case err == nil && o.failed == nil:
		return nil
	case err == nil:
		s.recovered(o)
		return nil
	case !s.cfg.Live:
		o.failed, o.reason = err, err
		return failure(err)
	case errors.Is(err, syscall.EPIPE):
		o.failed, o.reason = err, err
		s.cfg.Stop()
		return nil
	}
	return s.failedLive(o, err)
}

// recovered notes that an output that had failed takes packets again, once it has
// really taken one.
func (s *Set) recovered(o *output) {
	if o.written <= o.writtenAtFailure {
		return
	}
	o.failed = nil
	s.cfg.Log.Info("output works again", "output", o.name, "lost", o.missing())
}

// failedLive notes that an output fails while others go on.
func (s *Set) failedLive(o *output, err error) error {
	again := o.failed != nil
	o.failed = err
	if o.reason == nil {
		o.reason = err
	}
	o.writtenAtFailure = o.written
	if again {
		return nil
	}
	if !o.retries() && s.allEnded() {
		o.reason = nil // told by the end of the run
		return failure(err)
	}
	s.cfg.Log.Error("output failed", "output", o.name, "error", err)
	return nil
}

func (s *Set) allEnded() bool {
	for _, o := range s.outputs {
		if !o.ended() {
			return false
		}
	}
	return true
}

// outputError is a failure of an output: its text is that of the cause alone, which
// names the file.
type outputError struct{ err error }

func (e *outputError) Error() string   { return e.err.Error() }
func (e *outputError) Unwrap() []error { return []error{ErrOutput, e.err} }

func failure(err error) error {
	if err == nil {
		return nil
	}
	return &outputError{err}
}

// Commit completes all outputs after a clean end.
func (s *Set) Commit() error {
	return s.end(func(o *output) error {
		if o.ended() {
			return o.keep()
		}
		return o.commit()
	})
}

// Keep ends all outputs after any other end: files that existed stay as they were, and
// what was written is kept. Where that is under another name the error is a *Kept.
func (s *Set) Keep() error { return s.end(func(o *output) error { return o.keep() }) }

// Discard ends all outputs of a run that has read nothing.
func (s *Set) Discard() error { return s.end(func(o *output) error { return o.discard() }) }

// end has all outputs end side by side, so that one that blocks takes no other's time,
// and returns what was lost of each and why.
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
	var ending sync.WaitGroup
	for i, o := range s.outputs {
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

// endError returns what is to be told of an output at its end, where err is of the call
// that ended it.
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
