package distinct

import (
	"context"
	"errors"

	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
)

// Result is what a run leaves beside its rows.
type Result struct {
	Packets  uint64
	Filtered uint64 // packets that were not wanted
	Late     uint64 // packets whose window had closed: not counted
	Damaged  bool
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
	c := NewCounting(&cfg)
	err = in.Each(ctx, cfg.Workers, func() pipeline.Task {
		return &task{packets: c.NewPackets(), told: cfg.Told}
	})
	closed := c.Close()
	result := Result{Packets: c.packets, Filtered: in.Filtered(), Late: c.Late(), Damaged: in.Damaged(err)}
	var failed *OutputError
	if errors.As(err, &failed) { // closing says the same
		closed = nil
	}
	return result, errors.Join(append(in.Failed(), err, closed)...)
}

// OutputError is a failure to count or to tell counts. It ends a run: rows may
// be missing.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return e.Err.Error() }
func (e *OutputError) Unwrap() error { return e.Err }
