// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/capture/strip"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// Run de-duplicates the inputs. The summary is valid with every error; its Method is
// empty if the run ended before inputs and outputs were open.
//
// The error is the context's if that ended the run: then what was read before is
// processed and written. For each input that is damaged, or cannot be opened or read, it
// holds a *capture.InputError, *fs.PathError or *capture.ReadError; everything else is
// written. After an error existing files stay as they were, and a *sink.KeptError says
// where the packets are. If no packet could be read, nothing is written.
func Run(ctx context.Context, cfg Config) (Summary, error) {
	begin := time.Now()
	in, err := input.Open(ctx, cfg.Inputs, cfg.Input)
	if err != nil {
		return newRunStats().close(time.Since(begin)), err
	}
	defer in.Close()
	r, err := newRunner(ctx, &cfg, in)
	if err != nil {
		return newRunStats().close(time.Since(begin)), err
	}
	defer r.detector.Close()

	err = in.Each(ctx, cfg.Workers, func() pipeline.Task {
		return &task{ctx: ctx, run: r, packets: r.detector.NewPackets()}
	})
	err = r.end(err, in)
	s := r.detector.Summary(time.Since(begin))
	s.SkippedBlocks = r.outputs.Skipped()
	s.Files = r.outputs.Files()
	s.SetStripped(r.outputs)
	if s.Unsorted = in.Unsorted(); s.Unsorted != nil {
		s.SortedLate = &s.Unsorted.Late
	}
	s.Filtered = in.Filtered()
	s.LatePackets = in.Late()
	s.Timeline = r.timeline
	s.Inputs = r.inputs.plus(r.hubCopies)
	s.Damaged = in.Damaged(err)
	return s, errors.Join(append(in.Failed(), err)...)
}

const (
	// muchMemory takes seconds to allocate.
	muchMemory = 4 << 30
	// inputShare is how much memory each byte of input touches, at least: a packet of 64
	// bytes or more touches a page of 2 MiB.
	inputShare = 2 << 20 / 64
)

// prepare allocates the memory of a large filter at once. Otherwise the run would wait
// for one page at a time, without a message and without reacting to a signal. Inputs of
// inputBytes (0 if unknown) may be too small to touch most of the memory.
func (d *Detector) prepare(ctx context.Context, inputBytes int64) error {
	cfg := d.cfg
	if int64(cfg.Memory) < muchMemory || inputBytes > 0 && inputBytes < int64(cfg.Memory/inputShare) {
		return nil
	}
	if cfg.Input.Warn != nil {
		cfg.Input.Warn(fmt.Errorf("allocating %s of memory first, which may take a while", show.Bytes(cfg.Memory)))
	}
	return d.Populate(ctx)
}

// end completes the outputs. After an unclean end existing files stay as they were, and
// if nothing was read there is nothing to keep.
func (r *runner) end(err error, in *input.Stream) error {
	switch {
	case err == nil && len(in.Failed()) == 0 && !in.Damaged(nil):
		return r.outputs.Commit()
	case r.detector.stats.batches.Packets+in.Filtered() == 0 && err != nil:
		return errors.Join(err, r.outputs.Discard())
	}
	return errors.Join(err, r.outputs.Keep())
}

// runner is what the batches of a run share.
type runner struct {
	detector *Detector
	outputs  *sink.Set
	inputs   byInput
	// hubCopies has what the hub found, which is counted while inputs is.
	hubCopies byInput
	timeline  *Timeline // nil if nobody asked
}

func newRunner(ctx context.Context, cfg *Config, in *input.Stream) (*runner, error) {
	cfg.conditions, cfg.opened = newConditions(cfg, in.Inputs()), in.Inputs()
	detector, err := New(cfg, in.Size())
	if err != nil {
		return nil, err
	}
	if err := detector.prepare(ctx, in.Size()); err != nil {
		return nil, errors.Join(err, detector.Close())
	}
	headers, err := strip.ParseHeaders(cfg.Choice.Strip)
	if err != nil {
		return nil, errors.Join(err, detector.Close())
	}
	rotate := cfg.Rotate
	rotate.Merged = len(in.Inputs()) > 1 && !cfg.Input.NoMerge
	rotate.Commented = cfg.Choice.Mark
	rotate.Output.Workers = cfg.Workers
	outputs := sink.New(ctx, sink.Config{
		Kept: cfg.Output, Removed: cfg.Duplicates, Strip: headers, Slice: cfg.Choice.Slice, Rotate: rotate, Inputs: in.Inputs(), Log: cfg.Log,
		TLS: cfg.Input.Network.TLS, Arriving: in.Arrives(), BeginsLate: in.BeginsLate(),
	})
	if err := outputs.OpenFiles(ctx); err != nil {
		return nil, errors.Join(err, outputs.Discard(), detector.Close())
	}
	r := &runner{detector: detector, outputs: outputs, inputs: newByInput(in.Inputs())}
	detector.swapped = r.inputs.swap
	if detector.hub != nil {
		r.hubCopies = newByInput(in.Inputs())
		detector.hub.removed = r.hubCopies.addCopies
	}
	if cfg.Timeline {
		r.timeline = &Timeline{}
	}
	return r, nil
}

// step is how many packets are decoded and digested at a time. The arrays in between then
// stay in the first-level cache.
const step = 512

// task is the work on one batch.
type task struct {
	ctx     context.Context
	run     *runner
	packets *Packets
}

// Admit prepares for the conditions of the run.
func (t *task) Admit(b *capture.Batch) { t.packets.Admit(t.ctx, b) }

// Prepare decodes and digests the packets.
func (t *task) Prepare(b *capture.Batch) {
	n := len(b.Frames)
	t.packets.Reset(n)
	for from := 0; from < n; from += step {
		t.packets.Read(b, from, min(from+step, n))
	}
}

// Apply finds the copies.
func (t *task) Apply(b *capture.Batch) error {
	drop, err := t.packets.Verdicts(b)
	if err != nil {
		return err
	}
	t.run.inputs.add(b, drop)
	if t.run.timeline != nil {
		t.run.timeline.add(b, drop)
	}
	t.packets.Choose(b)
	return nil
}

// Write hands the packets to the outputs.
func (t *task) Write(b *capture.Batch) error { return t.packets.Write(b, t.run.write) }

// GiveUp returns when a Write is left behind if it hangs.
func (t *task) GiveUp() <-chan struct{} { return t.run.outputs.GiveUp() }

// Finish writes the packets that wait.
func (t *task) Finish() error { return t.run.detector.Finish(t.run.write) }

// write takes batches whose verdicts are final.
func (r *runner) write(b *capture.Batch, drop []uint64) error {
	r.detector.Kept(b, drop)
	return r.outputs.Write(b, drop)
}
