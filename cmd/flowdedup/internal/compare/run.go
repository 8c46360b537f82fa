// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/compare"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// config configures a run. The caller has checked everything in it.
type config struct {
	Inputs [2]string // A and B
	// LANs takes for A the packets of the first path of a redundant network, such as LAN A of
	// PRP, and for B the packets of the second path. Both inputs may be the same file then.
	LANs  bool
	Input input.Options
	// Only names the outputs for packets that only one side has; "" is none.
	Only [2]string
	Log  *slog.Logger

	compare.Config
	Conversations int // how many are listed
	Workers       int
}

// workersOf returns the workers of each side.
func workersOf(cfg *config) int { return (cfg.Workers + 1) / 2 }

// run compares the inputs. The summary is valid with every error; it has no verdict if the
// inputs were not compared. Errors come from input.Stream and sink.Set. A damaged input is
// compared up to the damage.
func run(ctx context.Context, cfg *config) (Summary, error) {
	begin := time.Now()
	r := &runner{cfg: cfg}
	defer r.close()
	if err := r.open(ctx); err != nil {
		return Summary{}, errors.Join(err, r.discard())
	}
	c, err := compare.New(cfg.Config)
	if err != nil {
		return Summary{}, errors.Join(err, r.discard())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i, in := range r.inputs {
		r.feeds[i] = newFeed(ctx, c, i, in, workersOf(cfg))
	}
	err = r.search(ctx, c)
	if err != nil {
		cancel()
		return Summary{}, errors.Join(r.end(err), r.discard())
	}
	err = c.Run(r.written())
	cancel() // no more is read if an output failed
	err = r.end(err)
	report := c.Report(cfg.Conversations)
	s := newSummary(cfg, report, time.Since(begin))
	for i, in := range r.inputs {
		s.Damaged = s.Damaged || in.Damaged(r.feeds[i].finished)
	}
	r.countRemoved(&s)
	if cfg.LANs && s.A.Packets+s.B.Packets == 0 && err == nil {
		err = errNoLAN
	}
	return s, errors.Join(err, r.complete(err, &s))
}

// runner has the open resources of a run.
type runner struct {
	cfg     *config
	inputs  [2]*input.Stream
	feeds   [2]*feed
	outputs [2]*sink.Set // nil for none
}

// chunkSize keeps the batches of both sides small enough for the caches.
const chunkSize = 80 << 10

func (r *runner) open(ctx context.Context) error {
	var done, total, packets [2]atomic.Int64
	for i, name := range r.cfg.Inputs {
		opt := r.cfg.options(i)
		opt.ChunkSize = chunkSize
		if progress := opt.Progress; progress != nil {
			opt.Progress = func(d, t int64, n uint64) {
				done[i].Store(d)
				total[i].Store(t)
				packets[i].Store(int64(n))
				all := total[0].Load() + total[1].Load()
				if total[0].Load() == 0 || total[1].Load() == 0 {
					all = 0
				}
				progress(done[0].Load()+done[1].Load(), all, uint64(packets[0].Load()+packets[1].Load()))
			}
		}
		in, err := input.Open(ctx, []string{name}, opt)
		if err != nil {
			return err
		}
		r.inputs[i] = in
	}
	for i, name := range r.cfg.Only {
		if name == "" {
			continue
		}
		r.outputs[i] = sink.New(ctx, sink.Config{
			Kept: name, Log: r.cfg.Log, TLS: r.cfg.Input.Network.TLS,
			Arriving: r.inputs[i].Arrives(), BeginsLate: r.inputs[i].BeginsLate(),
		})
		if err := r.outputs[i].OpenFiles(ctx); err != nil {
			return err
		}
	}
	return nil
}

// search finds the offset of the clocks, in a pass of its own if the first packets do not
// determine it.
func (r *runner) search(ctx context.Context, c *compare.Comparer) error {
	sure, err := c.Search(r.feeds[0], r.feeds[1])
	if err != nil || sure || ctx.Err() != nil {
		return err
	}
	for _, name := range r.cfg.Inputs {
		if info, err := os.Stat(name); name == "-" || err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("the first packets of %s and %s do not show the offset of the clocks, and only files can be read twice: compare files, or use a larger --memory",
				r.cfg.Inputs[0], r.cfg.Inputs[1])
		}
	}
	var surveys [2]*compare.Survey
	var errs [2]error
	done := make(chan struct{})
	go func() {
		defer close(done)
		surveys[0], errs[0] = survey(ctx, c, 0, r.cfg)
	}()
	surveys[1], errs[1] = survey(ctx, c, 1, r.cfg)
	<-done
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	c.Locate(surveys[0], surveys[1])
	return nil
}

// written returns the function that writes packets, nil without an output.
func (r *runner) written() func(side int, b *capture.Batch, matched []uint64) error {
	if r.outputs[0] == nil && r.outputs[1] == nil {
		return nil
	}
	return func(side int, b *capture.Batch, matched []uint64) error {
		if r.outputs[side] == nil {
			return nil
		}
		return r.outputs[side].Write(b, matched)
	}
}

// end waits for the inputs, and returns their errors and err. Inputs that were ended because of
// err have none.
func (r *runner) end(err error) error {
	errs := []error{err}
	for _, f := range r.feeds {
		one := f.end()
		if err != nil && errors.Is(one, context.Canceled) {
			one = nil
		}
		errs = append(errs, one)
	}
	return errors.Join(errs...)
}

// complete completes the outputs. After an unclean end existing files stay as they were,
// and if nothing was read there is nothing to keep.
func (r *runner) complete(err error, s *Summary) error {
	end := (*sink.Set).Commit
	switch {
	case s.A.Packets+s.B.Packets+s.Filtered == 0 && err != nil:
		end = (*sink.Set).Discard
	case err != nil || s.Damaged:
		end = (*sink.Set).Keep
	}
	return r.each(end)
}

func (r *runner) discard() error { return r.each((*sink.Set).Discard) }

func (r *runner) each(end func(*sink.Set) error) error {
	var errs []error
	for i, set := range r.outputs {
		if set != nil {
			errs = append(errs, end(set))
			r.outputs[i] = nil
		}
	}
	return errors.Join(errs...)
}

func (r *runner) close() {
	for _, in := range r.inputs {
		if in != nil {
			_ = in.Close() // everything was read, or the run failed
		}
	}
}

// errNoLAN is returned if no packet came on a path of a redundant network.
var errNoLAN = errors.New("no packet is of a PRP LAN or an HSR ring: nothing was compared")

// options returns the options of the input of a side. With LANs it takes the packets of one path.
func (c *config) options(side int) input.Options {
	opt := c.Input
	opt.Reassemble, opt.Tunnels = c.Identity.Kind == identity.Inner, c.Identity.Tunnels
	if c.LANs {
		opt.Wanted = func(b *capture.Batch, i int) bool {
			path, _ := headers.PathOf(b, i)
			return path != headers.NoPath && path.IsSecond() == (side == 1)
		}
	}
	return opt
}

// once reports whether both sides come from one input.
func (c *config) once() bool { return c.LANs && c.Inputs[0] == c.Inputs[1] }

// countRemoved counts the packets of the inputs that belong to no side. An input that both
// sides read has each packet once.
func (r *runner) countRemoved(s *Summary) {
	a, b := r.inputs[0], r.inputs[1]
	if s.Filtered = a.Filtered(); !r.cfg.once() {
		s.Filtered += b.Filtered()
	}
	switch {
	case r.cfg.once():
		s.Unpathed = max(a.Unwanted(), s.B.Packets) - s.B.Packets // all except the other side's
	case r.cfg.LANs:
		s.Unpathed = a.Unwanted() + b.Unwanted()
	}
}

// lanOf names the path of a side.
func (c *config) lanOf(side int) string {
	if !c.LANs {
		return ""
	}
	return [2]string{"A", "B"}[side]
}
