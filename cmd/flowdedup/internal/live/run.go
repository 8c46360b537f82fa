package live

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/flowdedup/flowdedup/capture/diffs"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/ring"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/distinct"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// idle is how long packets are waited for before the run looks at the clock.
const idle = 100 * time.Millisecond

// Run captures until ctx is done, then judges and writes what was captured before. The
// summary is valid whatever the error is; its Method is empty if the run ended before
// everything was open.
//
// The error is nil where ctx, Config.Packets or Config.Duration ended the run. Else it is
// of the ring package, of a reader that left its pipe, or of outputs: one that failed
// while others went on is told at the end.
func Run(ctx context.Context, cfg Config) (Summary, error) {
	r, err := open(ctx, &cfg)
	if err != nil {
		return Summary{}, err
	}
	r.log.Info("started", "interfaces", cfg.Ring.Interfaces)
	stop := context.AfterFunc(ctx, r.capture.Stop)
	defer stop()
	if cfg.Duration > 0 {
		defer time.AfterFunc(cfg.Duration, r.capture.Stop).Stop()
	}
	stream := input.New(limit(r.capture, cfg.Packets), nil)
	// The end of ctx ends the capture, and not the work on what was captured.
	err = stream.Each(context.WithoutCancel(ctx), cfg.Dedup.Workers, func() input.Task { return newTask(r) })
	r.capture.Stop() // a worker may still wait for packets
	err = errors.Join(err, r.end(), stream.Close())
	return r.summary(), err
}

// runner is what the batches of a run have in common.
type runner struct {
	cfg      *Config
	log      *slog.Logger
	begin    time.Time
	capture  *ring.Capture
	judging  *dedup.Judging
	counting *distinct.Counter // nil where nothing is counted
	diffs    diffs.Counter
	outputs  *sink.Set
	reports  *reports      // nil without
	state    *state        // nil without
	lock     *outfile.Lock // of its file
	places   places
	watch    *watch
}

// open opens everything that a run needs, first what takes privileges.
func open(ctx context.Context, cfg *Config) (r *runner, err error) {
	if err := refuseForward(cfg.Ring.Interfaces, cfg.Forward); err != nil {
		return nil, err
	}
	r = &runner{cfg: cfg, log: cfg.Log, begin: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.abort())
		}
	}()
	cfg.Ring.Idle, cfg.Ring.Hold = idle, true
	cfg.Dedup.Live = true
	outputs := sink.Config{
		Kept: cfg.Output, Removed: cfg.Duplicates, Forward: cfg.Forward, Retry: cfg.Ring.Wait,
		Rotate: cfg.Rotate, Live: true, Stop: func() { r.capture.Stop() }, Log: r.log,
	}
	// Files get records; what is forwarded goes out sooner from a copy; and several workers have
	// several batches at a time.
	cfg.Ring.InPlace = cfg.Dedup.Workers <= 1 && outputs.None()
	if r.capture, err = ring.Open(cfg.Ring); err != nil {
		return r, err
	}
	r.outputs = sink.New(ctx, outputs)
	if err = r.outputs.OpenForward(); err != nil {
		return r, err
	}
	if err = become(cfg.User); err != nil {
		return r, err
	}
	if cfg.User != "" && cfg.Ring.Wait {
		r.log.Warn("an interface that is captured from cannot be opened again as another user once it was removed; one that goes down and up can")
	}
	if err = r.resume(ctx); err != nil {
		return r, err
	}
	if err = r.judging.Populate(ctx); err != nil {
		return r, err
	}
	if err = r.outputs.OpenFiles(ctx); err != nil {
		return r, err
	}
	if err = r.openState(); err != nil {
		return r, err
	}
	if err = r.capture.Begin(); err != nil {
		return r, err
	}
	r.watch = newWatch(r)
	return r, nil
}

// openFilter makes what judges and counts, from a state unless that is nil.
func (r *runner) openFilter(ctx context.Context, h *stateHeader, snapshots io.Reader) (err error) {
	cfg := r.cfg
	if r.judging, err = newJudging(&cfg.Dedup, h, snapshots); err != nil {
		return err
	}
	if len(cfg.Distinct.Keys) == 0 {
		return nil
	}
	if r.reports, err = openReports(ctx, cfg.Reports, cfg.Distinct.Calendar.Location, r.log, r.capture.Stop); err != nil {
		return err
	}
	if cfg.Reopen != nil {
		cfg.Reopen(r.reports.file.Reopen)
	}
	cfg.Distinct.Rows = r.reports.rows
	cfg.Distinct.Inner = cfg.Dedup.Identity.Kind == flow.Inner
	r.counting, err = newCounting(&cfg.Distinct, h, snapshots)
	return err
}

// abort gives back what open has opened.
func (r *runner) abort() error {
	var errs []error
	if r.capture != nil {
		errs = append(errs, r.capture.Close())
	}
	if r.outputs != nil {
		errs = append(errs, r.outputs.Discard())
	}
	if r.judging != nil {
		errs = append(errs, r.judging.Close())
	}
	if r.reports != nil {
		errs = append(errs, r.reports.close())
	}
	return errors.Join(append(errs, r.unlock())...)
}

// unlock lets other runs have the state.
func (r *runner) unlock() error {
	if r.lock == nil {
		return nil
	}
	return r.lock.Unlock()
}

// end completes the outputs, saves the state, tells the last status, and closes the
// windows.
func (r *runner) end() error {
	errs := []error{r.outputs.Commit()}
	saved := false
	if r.state != nil {
		err := r.state.end()
		saved = err == nil
		errs = append(errs, err, r.unlock())
	}
	r.watch.end()
	if r.counting != nil {
		errs = append(errs, r.endCounting(saved), r.reports.close())
	}
	return errors.Join(append(errs, r.judging.Close())...)
}

// endCounting tells the counts of windows that are open, unless they were saved: then
// the next run does so when they end.
func (r *runner) endCounting(saved bool) error {
	if saved {
		return r.counting.Abandon()
	}
	return r.counting.Close()
}
