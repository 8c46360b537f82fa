// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/strip"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// Run de-duplicates the inputs. The summary is valid with every error; its Method is
// empty if the run ended before inputs and outputs were open.
//
// The error is the context's if that ended the run: then packets read before are processed and
// written. For each input that is damaged, or cannot be opened or read, it holds a
// *capture.InputError, *fs.PathError or *capture.ReadError; everything else is written. After
// an error existing files stay as they were, and a *sink.KeptError says where the packets are.
// If no packet could be read, nothing is written.
func Run(ctx context.Context, cfg Config) (Summary, error) {
	begin := time.Now()
	cfg.Input.Reassemble, cfg.Input.Tunnels = cfg.Reassembles(), cfg.Identity.Tunnels
	in, err := input.Open(ctx, cfg.Inputs, cfg.Input)
	if err != nil {
		return noSummary(begin), err
	}
	defer in.Close()
	r, err := newRunner(ctx, &cfg, in)
	if err != nil {
		return noSummary(begin), err
	}
	defer r.detector.Close()

	in.Admit(cfg.Admit)
	err = in.Each(ctx, cfg.Workers, r.detector.Tasks(r.outputs))
	err = r.end(err, in)
	s := Summarize(&cfg, r.detector, time.Since(begin))
	s.SkippedBlocks = r.outputs.Skipped()
	s.Files = r.outputs.Files()
	s.SetStripped(r.outputs)
	s.Stats = in.Fragments()
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

// noSummary returns the summary of a run that read nothing.
func noSummary(begin time.Time) Summary {
	return summaryOf(&dedup.Counts{Tally: dedup.NewTally()}, time.Since(begin))
}

const (
	// muchMemory takes seconds to allocate.
	muchMemory = 4 << 30
	// inputShare is how much memory each byte of input touches, at least: a packet of 64
	// bytes or more touches a page of 2 MiB.
	inputShare = 2 << 20 / 64
)

// prepare allocates the memory of a large filter at once. Otherwise the run would wait
// for page after page, without a message and without reacting to a signal. Inputs of
// inputBytes (0 if unknown) may be too small to touch most of the memory.
func (cfg *Config) prepare(ctx context.Context, d *dedup.Detector, inputBytes int64) error {
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
		return errors.Join(r.outputs.Commit(), r.removed.end((*outfile.File).Commit))
	case r.detector.Counts().Packets+in.Filtered() == 0 && err != nil:
		return errors.Join(err, r.outputs.Discard(), r.removed.end((*outfile.File).Discard))
	}
	return errors.Join(err, r.outputs.Keep(), r.removed.end(keepList))
}

// runner is shared by the batches of a run.
type runner struct {
	detector *dedup.Detector
	outputs  *sink.Set
	removed  *removedList
	inputs   byInput
	// hubCopies has the hub's copies, which are counted while inputs is.
	hubCopies byInput
	timeline  *Timeline // nil if nobody asked
}

func newRunner(ctx context.Context, cfg *Config, in *input.Stream) (r *runner, err error) {
	cfg.conditions, cfg.opened = newConditions(cfg, in.Inputs()), in.Inputs()
	removed, err := openRemoved(ctx, cfg.Removed)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removed.end((*outfile.File).Discard))
		}
	}()
	if removed != nil {
		cfg.list = removed.add
	}
	r = &runner{removed: removed}
	if r.detector, err = New(cfg, in.Size(), r.observers(cfg)...); err != nil {
		return nil, err
	}
	if err = cfg.prepare(ctx, r.detector, in.Size()); err != nil {
		return nil, errors.Join(err, r.detector.Close())
	}
	headers, err := strip.ParseHeaders(cfg.Choice.Strip)
	if err != nil {
		return nil, errors.Join(err, r.detector.Close())
	}
	rotate := cfg.Rotate
	rotate.Merged = len(in.Inputs()) > 1 && !cfg.Input.NoMerge
	rotate.Commented = cfg.Choice.Mark
	rotate.Output.Workers = cfg.Workers
	r.outputs = sink.New(ctx, sink.Config{
		Kept: cfg.Output, Removed: cfg.Duplicates, Strip: headers, Reassembled: cfg.Input.Reassemble, Slice: cfg.Choice.Slice, Tunnels: cfg.Identity.Tunnels, Rotate: rotate, Folders: true, Inputs: in.Inputs(), Log: cfg.Log,
		TLS: cfg.Input.Network.TLS, Arriving: in.Arrives(), BeginsLate: in.BeginsLate(),
	})
	if err = r.outputs.OpenFiles(ctx); err != nil {
		return nil, errors.Join(err, r.outputs.Discard(), r.detector.Close())
	}
	return r, nil
}

// observers counts the packets of inputs, and over time, as cfg asks for.
func (r *runner) observers(cfg *Config) (all []dedup.Observer) {
	if r.inputs = newByInput(cfg.opened); r.inputs != nil {
		r.hubCopies = newByInput(cfg.opened)
		all = append(all, dedup.Observer{Judged: r.inputs.add, Exchanged: r.inputs.swap, Stays: r.inputs.stays, Elsewhere: r.hubCopies.addCopies})
	}
	if cfg.Timeline {
		r.timeline = &Timeline{}
		all = append(all, dedup.Observer{Judged: r.timeline.add})
	}
	return all
}
