// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/mirror"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/analysis/inspect"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
)

// config configures a run. The caller has checked everything in it.
type config struct {
	// Inputs are captures. Without any, Mirror is captured for Duration, if it has targets, or
	// else Ring.
	Inputs   []string
	Input    input.Options
	Ring     afpacket.Config
	Mirror   mirror.Config
	Duration time.Duration

	// Config has no Inputs: their names become known when they are opened.
	inspect.Config
	Workers int
	// Flags are the flags of the command line that choose packets: the recommended command
	// repeats them.
	Flags []string
	// profile is for the reader of the command's output.
	Profile profile
}

// run inspects the inputs, or live traffic until ctx is done. The summary is valid with every
// error; it has no packets if nothing could be read. Errors come from input.Stream or the ring
// package. The end of ctx is no error of live traffic.
func run(ctx context.Context, cfg *config) (Summary, error) {
	begin := time.Now()
	if len(cfg.Inputs) == 0 {
		return runLive(ctx, cfg, begin)
	}
	in, err := input.Open(ctx, cfg.Inputs, cfg.Input)
	if err != nil {
		return Summary{}, err
	}
	defer in.Close()
	n := newInspector(cfg, in.Inputs())
	defer n.Close()
	err = in.Each(ctx, cfg.Workers, func() pipeline.Task { return newTask(n) })
	s := newSummary(cfg, n.Report(), time.Since(begin))
	s.Filtered, s.Damaged = in.Filtered(), in.Damaged(err)
	s.Late, s.ReceiverStats = in.Late(), in.Peers()
	return s, errors.Join(append(in.Failed(), err)...)
}

func newInspector(cfg *config, inputs []string) *inspect.Inspector {
	c := cfg.Config
	c.Inputs, c.Translations = inputs, true
	return inspect.New(c)
}

// task is the work on one batch.
type task struct {
	inspector *inspect.Inspector
	batch     *inspect.Batch
	// progress gets the number of packets so far. It may be nil.
	progress func(done, total int64, packets uint64)
}

func newTask(n *inspect.Inspector) *task { return &task{inspector: n, batch: n.NewBatch()} }

// Prepare decodes and digests the packets.
func (t *task) Prepare(b *capture.Batch) { t.batch.Prepare(b) }

// Judge measures them.
func (t *task) Judge(b *capture.Batch) error {
	t.inspector.Add(t.batch, b)
	if t.progress != nil {
		t.progress(0, 0, t.inspector.Packets())
	}
	return nil
}

// Write has nothing to write.
func (t *task) Write(*capture.Batch) error { return nil }
