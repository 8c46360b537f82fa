// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
)

// task is the work on a batch.
type task struct {
	run        *runner
	phase      *phase // that packets belong to
	packets    *dedup.BatchDetector
	keys       *count.Packets // nil where nothing is counted
	sampler    *traits.Sampler
	inspecting inspecting
	err        error // why conditions cannot be matched
}

var _ pipeline.Admitter = (*task)(nil)

func newTask(r *runner) *task {
	t := &task{run: r}
	t.follow(r.phase.Load())
	if r.counter != nil {
		t.keys = r.counter.NewPackets()
	}
	return t
}

// follow lets the task work for a phase.
func (t *task) follow(p *phase) {
	if t.phase == p {
		return
	}
	t.phase, t.packets, t.sampler = p, p.detector.NewBatchDetector(), traits.NewSampler(p.detector.NewDecoder())
}

// Admit prepares for the conditions of the run.
func (t *task) Admit(b *capture.Batch) { t.err = t.phase.cfg.Admit(context.Background(), b) }

// Prepare decodes the packets, and digests them and their keys.
func (t *task) Prepare(b *capture.Batch) {
	t.follow(t.run.phase.Load())
	t.read(b, t.keys)
	t.inspecting.prepare(t.run.learner, b)
}

// read decodes the packets, and digests them and their keys, if keys is not nil.
func (t *task) read(b *capture.Batch, keys *count.Packets) {
	n := len(b.Frames)
	t.packets.Reset(n)
	t.sampler.Reset(n)
	if keys != nil {
		keys.Reset(t.packets.Times())
	}
	for from, to := range b.Groups() {
		t.sampler.Add(b, from, t.packets.PrepareGroup(b, from, to))
		if keys != nil {
			keys.PrepareGroup(b, from, to)
		}
	}
}

// Judge finds the copies and counts keys.
func (t *task) Judge(b *capture.Batch) error {
	r := t.run
	if t.err != nil {
		return t.err
	}
	if p := r.phase.Load(); p != t.phase {
		t.follow(p) // there was a decision since Prepare
		t.read(b, nil)
	}
	drop := t.packets.Judge(b)
	r.diffs.Add(t.sampler, b, drop)
	if t.keys != nil {
		if err := t.keys.Count(b, drop); err != nil {
			return err
		}
	}
	t.inspecting.apply(r.learner, t.phase, b)
	now := time.Now()
	if err := r.state.tick(now); err != nil {
		return err
	}
	r.learner.tick(now)
	return r.ticker.tick(now)
}

// Write hands the packets to the outputs.
func (t *task) Write(b *capture.Batch) error {
	if err := t.run.finish(t.phase); err != nil {
		return err
	}
	return t.packets.Write(b, t.run.outputs)
}

// Finish writes the packets that wait.
func (t *task) Finish() error {
	last := t.run.phase.Load()
	if err := t.run.finish(last); err != nil {
		return err
	}
	return last.detector.Finish(t.run.outputs)
}

// finish writes the packets that wait for better copies of the phase before.
func (r *runner) finish(p *phase) error {
	before := p.before
	if before == nil {
		return nil
	}
	p.before = nil
	if err := r.finish(before); err != nil {
		return err
	}
	return before.detector.Finish(r.outputs)
}
