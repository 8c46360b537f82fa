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
	Named    []string // the inputs as they were named: captures and folders
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

// idle is how long the run waits for packets before it looks whether it is to end.
const idle = 100 * time.Millisecond

// liveSource is a capture from interfaces or mirror targets.
type liveSource interface {
	capture.Source
	Stop() // ends the packets
}

// runLive inspects live traffic.
func runLive(ctx context.Context, cfg *config, begin time.Time) (Summary, error) {
	live, dropped, err := openLive(ctx, cfg)
	if err != nil {
		return Summary{}, err
	}
	defer context.AfterFunc(ctx, live.Stop)()
	if cfg.Duration > 0 {
		defer time.AfterFunc(cfg.Duration, live.Stop).Stop()
	}
	n := newInspector(cfg, nil)
	defer n.Close()
	packets := pipeline.New(live)
	// ctx ends the capture, but not the work on captured packets.
	err = packets.Run(context.WithoutCancel(ctx), cfg.Workers, func() pipeline.Task {
		t := newTask(n)
		t.progress = cfg.Input.Progress
		return t
	})
	live.Stop()
	s := newSummary(cfg, n.Report(), time.Since(begin))
	s.Dropped, s.CardDropped = dropped()
	return s, errors.Join(err, packets.Close())
}

// openLive opens the interfaces or targets. The second result counts packets that the kernel
// dropped, and packets that network cards lost before.
func openLive(ctx context.Context, cfg *config) (live liveSource, dropped func() (kernel, card uint64), err error) {
	if len(cfg.Mirror.Targets) > 0 {
		return openMirror(ctx, cfg)
	}
	cfg.Ring.Idle, cfg.Ring.InPlace = idle, true
	c, err := afpacket.Open(cfg.Ring)
	if err != nil {
		return nil, nil, err
	}
	return c, func() (uint64, uint64) { return droppedBy(c.Stats()) }, nil
}

// openMirror opens mirror targets.
func openMirror(ctx context.Context, cfg *config) (liveSource, func() (kernel, card uint64), error) {
	conf := cfg.Mirror
	conf.Idle, conf.Delay, conf.Warn = idle, min(cfg.Ring.BlockTimeout, time.Millisecond), cfg.Input.Warn
	c, err := mirror.Open(conf)
	if err != nil {
		return nil, nil, err
	}
	dropped := func() (kernel, _ uint64) {
		for _, target := range c.Stats() {
			n, _ := droppedBy(target.Sockets)
			kernel += n
		}
		return kernel, 0
	}
	if cfg.Input.Filter.All() {
		return c, dropped, nil
	}
	wanted := input.NewWanted(cfg.Input.Filter, conf.Warn)
	if err := wanted.Compile(ctx, capture.LinkEthernet); err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return matching{c, wanted}, dropped, nil
}

func droppedBy(all []afpacket.Stats) (kernel, card uint64) {
	for i := range all {
		kernel += all[i].Dropped
		card += all[i].Card.Lost()
	}
	return kernel, card
}

// matching delivers the packets that match the filter, if no kernel filters them here.
type matching struct {
	liveSource
	wanted *input.Wanted
}

// Next removes the packets that do not match from a batch.
func (m matching) Next(b *capture.Batch) error {
	if err := m.liveSource.Next(b); err != nil {
		return err
	}
	return m.wanted.Keep(context.Background(), b)
}
