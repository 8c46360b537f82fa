// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"context"
	"errors"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/capture/reassemble"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
)

// Config configures a count. The caller has checked everything in it.
type Config struct {
	Inputs []string
	Input  input.Options

	count.Config
	Workers int // goroutines that share the work, at least 1; the counts do not depend on it
	// Flush is called after the rows and sightings of each batch, and at the end, so that
	// buffered ones can be written. It may be nil.
	Flush func() error
}

// Result is the result of a run without its rows.
type Result struct {
	Packets  uint64
	Filtered uint64 // packets that were not wanted
	Late     uint64 // packets whose window had closed: not counted
	// LateForMemory counts those of Late whose window closed early, for want of memory.
	LateForMemory uint64
	// Unopened counts frames that were not opened, and in which no address is counted: see
	// headers.Unopened. It is nil without any.
	Unopened map[string]uint64
	// Fragments counts the fragments of tunnels, nil where these are not opened.
	Fragments *reassemble.Stats
	Damaged   bool
	// WithoutIP counts packets that are in no row of addresses.
	WithoutIP uint64
	// WithoutPorts and WithoutFirst are those of count.Counter.
	WithoutPorts, WithoutFirst uint64
	Gaps                       int // windows without packets that have rows, at most count.MaxGaps
}

// Run counts. With every error the result is valid, and rows were emitted for everything read.
// The error comes from the context or from emitting rows, or it holds a *capture.InputError for
// each input that is damaged or cannot be opened.
func Run(ctx context.Context, cfg Config) (Result, error) {
	cfg.Input.Reassemble, cfg.Input.Tunnels = cfg.Inner, cfg.Tunnels
	in, err := input.Open(ctx, cfg.Inputs, cfg.Input)
	if err != nil {
		return Result{}, err
	}
	defer in.Close()
	c := count.NewCounter(&cfg.Config)
	err = in.Each(ctx, cfg.Workers, func() pipeline.Task {
		return &task{packets: c.NewPackets(), flush: cfg.Flush}
	})
	closed := count.Failed(c.Close())
	if cfg.Flush != nil {
		closed = errors.Join(closed, count.Failed(cfg.Flush()))
	}
	result := Result{Packets: c.Packets(), Unopened: c.Unopened(), Fragments: in.Fragments(), Filtered: in.Filtered(), Late: c.Late(), LateForMemory: c.LateForMemory(), WithoutPorts: c.WithoutPorts(), WithoutFirst: c.WithoutFirst(), WithoutIP: c.WithoutIP(), Damaged: in.Damaged(err), Gaps: c.Gaps()}
	var failed *count.OutputError
	if errors.As(err, &failed) { // closing returns the same error
		closed = nil
	}
	return result, errors.Join(append(in.Failed(), err, closed)...)
}

// task is the work on one batch.
type task struct {
	packets *count.Packets
	flush   func() error // Config.Flush
	times   []int64
}

// Prepare decodes the packets and digests their keys.
func (t *task) Prepare(b *capture.Batch) {
	t.times = count.UsableTimes(t.times[:0], b.Frames)
	t.packets.Reset(t.times)
	for from, to := range b.Groups() {
		t.packets.PrepareGroup(b, from, to)
	}
}

// Judge counts the elements.
func (t *task) Judge(b *capture.Batch) error {
	if err := t.packets.Count(b, nil); err != nil || t.flush == nil {
		return err
	}
	return count.Failed(t.flush())
}

// Write does nothing: lists are written while elements are counted.
func (t *task) Write(*capture.Batch) error { return nil }
