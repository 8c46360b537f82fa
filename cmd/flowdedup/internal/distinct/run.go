// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"context"
	"errors"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// Result is what a run returns besides its rows.
type Result struct {
	Packets  uint64
	Filtered uint64 // packets that were not wanted
	Late     uint64 // packets whose window had closed: not counted
	// Unopened counts frames that were not opened, and in which no address is counted: see
	// flow.Unopened. It is nil without any.
	Unopened map[string]uint64
	Damaged  bool
	// WithoutPorts is Counter.WithoutPorts.
	WithoutPorts uint64
	Gaps         int // windows without packets that have rows, at most MaxGaps
}

// Run counts. With every error the result is valid, and rows were emitted for everything
// read. The error is the context's, or that of emitting rows, or it holds a
// *capture.InputError for each input that is damaged or cannot be opened.
func Run(ctx context.Context, cfg Config) (Result, error) {
	in, err := input.Open(ctx, cfg.Inputs, cfg.Input)
	if err != nil {
		return Result{}, err
	}
	defer in.Close()
	c := NewCounter(&cfg)
	err = in.Each(ctx, cfg.Workers, func() pipeline.Task {
		return &task{packets: c.NewPackets(), flush: cfg.Flush}
	})
	closed := outputError(c.Close())
	result := Result{Packets: c.Packets(), Unopened: c.unopened.ByName(), Filtered: in.Filtered(), Late: c.Late(), WithoutPorts: c.WithoutPorts(), Damaged: in.Damaged(err), Gaps: c.rows.gaps}
	var failed *OutputError
	if errors.As(err, &failed) { // closing returns the same error
		closed = nil
	}
	return result, errors.Join(append(in.Failed(), err, closed)...)
}

// OutputError is a failure to count or to emit counts. It ends a run, and rows may be
// missing.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return e.Err.Error() }
func (e *OutputError) Unwrap() error { return e.Err }

func outputError(err error) error {
	if err == nil {
		return nil
	}
	return &OutputError{err}
}

// task is the work on one batch.
type task struct {
	packets *Packets
	flush   func() error // Config.Flush
	times   []int64
}

// usableTimes appends the usable times of frames.
func usableTimes(times []int64, frames []capture.Frame) []int64 {
	times = slices.Grow(times, len(frames))
	for i := range frames {
		times = append(times, calendar.Usable(frames[i].Time))
	}
	return times
}

// Prepare decodes the packets and digests their keys.
func (t *task) Prepare(b *capture.Batch) {
	t.times = usableTimes(t.times[:0], b.Frames)
	t.packets.Reset(t.times)
	for from, to := range b.Groups() {
		t.packets.Read(b, from, to)
	}
}

// Apply counts the elements.
func (t *task) Apply(b *capture.Batch) error {
	if err := t.packets.Count(b, nil); err != nil || t.flush == nil {
		return err
	}
	return outputError(t.flush())
}

// Write does nothing: lists are written while elements are counted.
func (t *task) Write(*capture.Batch) error { return nil }
