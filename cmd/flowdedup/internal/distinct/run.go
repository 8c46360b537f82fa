package distinct

import (
	"context"
	"errors"
	"time"

	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine"
)

const (
	// memoryCheck is the number of packets between two looks at the memory of
	// open windows, and memoryLimit what windows other than the current one
	// may hold then.
	memoryCheck = 1 << 16
	memoryLimit = 1 << 30
)

// Result is what a run leaves beside its rows.
type Result struct {
	Packets uint64
	Late    uint64 // packets whose window had closed: not counted
	Damaged bool
}

// Run counts. The result is valid, and rows were told for everything read,
// whatever the error is: the context's, or one that holds a
// *capture.InputError for each input that is damaged or cannot be opened, or
// that of telling rows.
func Run(ctx context.Context, cfg Config) (Result, error) {
	in, err := input.Open(ctx, cfg.Inputs, cfg.Input)
	if err != nil {
		return Result{}, err
	}
	defer in.Close()
	r := newRunner(&cfg)
	err = in.Each(ctx, cfg.Workers, func() input.Task { return newPackets(r) })
	r.windows.Close()
	result := Result{Packets: r.packets, Late: r.windows.Late(), Damaged: in.Damaged(err)}
	var failed *OutputError
	if r.err != nil && !errors.As(err, &failed) { // it came with the last windows
		err = errors.Join(err, &OutputError{r.err})
	}
	return result, errors.Join(append(in.Failed(), err)...)
}

// OutputError is a failure to count or to tell counts. It ends a run: rows may
// be missing.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return e.Err.Error() }
func (e *OutputError) Unwrap() error { return e.Err }

// runner is what the batches of a run have in common.
type runner struct {
	cfg     *Config
	loc     *time.Location
	decoder *flow.Decoder
	digest  digesters
	windows *engine.Windows[window]
	packets uint64
	err     error // the first failure to count or to tell; it ends the run
}

func newRunner(cfg *Config) *runner {
	r := &runner{
		cfg:     cfg,
		loc:     cfg.Calendar.Location,
		decoder: flow.NewDecoder(flow.Config{Inner: cfg.Inner}),
		digest:  newDigesters(cfg.Secret),
	}
	if r.loc == nil {
		r.loc = time.UTC
	}
	r.windows = engine.NewWindows(engine.WindowsConfig[window]{
		Calendar: cfg.Calendar,
		Open:     func(start, end int64) *window { return newWindow(start, end, cfg) },
		Close:    r.closeWindow,
	})
	return r
}

// closeWindow tells a window's counts, unless something failed before.
func (r *runner) closeWindow(_, _ int64, w *window) {
	if r.err == nil {
		r.err = r.cfg.Rows(w.rows(r.cfg, r.loc))
	}
	if err := w.close(); r.err == nil {
		r.err = err
	}
}

// shed closes windows early where many large ones are open beside the current
// one, which stays anyway.
func (r *runner) shed(current *window) {
	for {
		total := 0
		for w := range r.windows.All() {
			if w != current {
				total += w.memory(r.cfg)
			}
		}
		if total <= memoryLimit || !r.windows.Shed() {
			return
		}
	}
}
