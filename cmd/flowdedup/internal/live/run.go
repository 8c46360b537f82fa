// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	copies "github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/capture/reassemble"
	"github.com/flowdedup/flowdedup/capture/strip"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

const (
	// idle is how long the run waits for packets before it looks at the clock.
	idle = 100 * time.Millisecond
	// idleLearning is idle with --learn, as packets may have to wait for better copies later.
	idleLearning = 2 * time.Millisecond
	// idleShared is idle with several workers: a worker may already wait for packets when a
	// different worker finds a packet that has to wait for a better copy.
	idleShared = 20 * time.Millisecond
	// idleHub is idle where packets wait for a hub, and a capture cannot be woken: answers take about a
	// millisecond, and come unasked.
	idleHub = 2 * time.Millisecond
)

// idleNow is the shorter idle while packets wait for better copies or a hub.
func (r *runner) idleNow() time.Duration {
	switch p := r.phase.Load(); {
	case p != nil && p.detector.Waits() && !r.woken:
		return r.cfg.Ring.Idle
	case r.cfg.Dedup.Workers > 1:
		return idleShared
	}
	return idle
}

// runLive captures until ctx is done, then processes and writes the captured packets. The summary
// is valid with every error; its Method is empty if the run ended before everything was open.
//
// The error is nil if ctx, config.Packets or config.Duration ended the run. Otherwise it
// comes from the capture, from a pipe whose reader left, or from outputs, which are reported at
// the end.
func runLive(ctx context.Context, cfg config) (monitor.Summary, error) {
	r, err := open(ctx, &cfg)
	if err != nil {
		return monitor.Summary{}, err
	}
	r.log.Info("started", "interfaces", cfg.Inputs)
	stop := context.AfterFunc(ctx, r.capture.Stop)
	defer stop()
	if cfg.Duration > 0 {
		defer time.AfterFunc(cfg.Duration, r.capture.Stop).Stop()
	}
	src := limit(r.capture, cfg.Packets)
	if cfg.reassembles() {
		src, r.whole = reassemble.NewSource(src, true, cfg.Dedup.Identity.Tunnels)
	}
	packets := pipeline.New(src)
	// ctx ends the capture, but not the work on captured packets.
	err = packets.Run(context.WithoutCancel(ctx), cfg.Dedup.Workers, func() pipeline.Task { return newTask(r) })
	r.capture.Stop() // a worker may still wait for packets
	err = errors.Join(err, r.end(), packets.Close())
	sum := r.summary()
	if !cfg.network() {
		sum.Unprocessed = unprocessed(&sum, r.resumed)
	}
	return sum, err
}

// runner is shared by the batches of a run.
type runner struct {
	cfg      *config
	log      *slog.Logger
	begin    time.Time
	resumed  uint64 // packets of the runs before
	capture  liveCapture
	woken    bool               // capture is, by answers of a hub
	whole    *reassemble.Source // nil unless fragments of tunnels are put together
	phase    atomic.Pointer[phase]
	learner  *learner       // nil without
	counter  *count.Counter // nil where nothing is counted
	diffs    *traits.Counter
	bytesOut uint64 // of the last status
	outputs  *sink.Set
	reports  *reports      // nil without
	saver    *saver        // nil without
	state    *state        // nil without
	lock     *outfile.Lock // of its file
	names    ifaceNames
	ticker   *ticker
}

// open opens all resources of a run, first the resources that need privileges.
func open(ctx context.Context, cfg *config) (r *runner, err error) {
	if err := refuseForwards(cfg.Ring.Interfaces, cfg.Outputs.Forward); err != nil {
		return nil, err
	}
	r = &runner{cfg: cfg, log: cfg.Log, begin: time.Now(), diffs: traits.NewCounter(cfg.Dedup.Identity.Tunnels)}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.abort())
		}
	}()
	cfg.Dedup.Live = true
	cfg.Outputs.Rotate.Commented = cfg.Dedup.Choice.Mark
	r.setWaiting()
	if err = r.compile(ctx); err != nil {
		return r, err
	}
	if err = r.openInterfaces(ctx); err != nil {
		return r, err
	}
	if err = r.becomeUser(); err != nil {
		return r, err
	}
	if err = r.resume(ctx); err != nil {
		return r, err
	}
	r.resumed = r.detector().Counts().Packets
	if err = r.detector().Populate(ctx); err != nil {
		return r, err
	}
	if err = r.outputs.OpenFiles(ctx); err != nil {
		return r, err
	}
	if err = r.openState(); err != nil {
		return r, err
	}
	if err = r.capture.Start(); err != nil {
		return r, err
	}
	if r.counter != nil {
		r.counter.Began(r.begin.UnixNano())
		r.reports.sayNone(cfg.Distinct.Calendar)
	}
	r.ticker = newTicker(r)
	return r, nil
}

// setWaiting sets how the capture begins, and how long it waits for packets.
func (r *runner) setWaiting() {
	cfg := r.cfg
	cfg.Ring.Idle, cfg.Ring.StartPaused = idle, true
	hold := &cfg.Dedup.Choice
	if hold.Hold > 0 {
		hold.Delay = cfg.Ring.BlockTimeout
		cfg.Ring.Idle = min(max((hold.Hold+hold.Delay)/4, time.Millisecond), idle)
	}
	if cfg.Dedup.Hub != nil {
		cfg.Ring.Idle = idleHub
	}
	if cfg.Learn.For > 0 {
		cfg.Ring.Idle = min(cfg.Ring.Idle, idleLearning)
	}
	if cfg.Ring.Idle < idle {
		cfg.Ring.IdleNow = r.idleNow
	}
}

// openInterfaces opens the capture, and the interfaces that packets are forwarded to.
func (r *runner) openInterfaces(ctx context.Context) error {
	cfg := r.cfg
	var err error
	outputs := cfg.Outputs
	if outputs.Strip, err = strip.ParseHeaders(cfg.Dedup.Choice.Strip); err != nil {
		return err
	}
	outputs.Slice, outputs.Tunnels, outputs.Reassembled = cfg.Dedup.Choice.Slice, cfg.Dedup.Identity.Tunnels, cfg.reassembles()
	outputs.Live, outputs.BeginsLate, outputs.Retry, outputs.Log = true, cfg.network(), cfg.Ring.Wait, r.log
	outputs.Stop = func() { r.capture.Stop() }
	// A run that waits for a hub would hold batches for long. Packets that wait for better
	// copies are copied anyway.
	cfg.Ring.InPlace = outputs.InPlace() && cfg.Learn.For == 0 && !cfg.network() && cfg.Dedup.Hub == nil
	if r.capture, err = openCapture(ctx, cfg, r.log); err != nil {
		return err
	}
	if c, ok := r.capture.(interface{ Wake() }); ok && cfg.Dedup.Hub != nil {
		r.woken = true
		cfg.Dedup.Hub.Answered(c.Wake)
	}
	r.outputs = sink.New(ctx, outputs)
	return r.outputs.OpenForward()
}

// becomeUser becomes the user of --user, who could not open interfaces that are down or not there.
func (r *runner) becomeUser() error {
	if r.cfg.User == "" {
		return nil
	}
	for _, s := range r.capture.Stats() {
		if s.Down {
			return fmt.Errorf("%s is down or not there, and user %s could not open it later: leave --user out", s.Interface, r.cfg.User)
		}
	}
	if err := become(r.cfg.User); err != nil {
		return err
	}
	if r.cfg.Ring.Wait {
		r.log.Warn("as another user an interface that was removed cannot be opened again; one that was only down can")
	}
	return nil
}

// compile compiles the conditions for the interfaces. Call it before the process becomes --user, who
// may not be able to start the compiler.
func (r *runner) compile(ctx context.Context) error {
	cfg := &r.cfg.Dedup
	cfg.InterfaceIndex = cachedIndex()
	cfg.Input.Warn = func(err error) { r.log.Warn("a condition has no meaning", "error", err) }
	if !cfg.HasConditions() {
		return nil
	}
	var links []capture.LinkType
	if r.cfg.network() {
		links = append(links, capture.LinkEthernet)
	}
	for _, name := range r.cfg.Ring.Interfaces {
		link, err := afpacket.LinkTypeOf(name, r.cfg.Ring.Wait)
		if err != nil {
			return err
		}
		links = append(links, link)
	}
	return cfg.Compile(ctx, links)
}

// cachedIndex returns a function that looks up the index of an interface, 0 for none, at most
// once a second.
func cachedIndex() func(name string) uint32 {
	type found struct {
		index uint32
		until time.Time
	}
	known := map[string]found{}
	return func(name string) uint32 {
		now := time.Now()
		f := known[name]
		if now.After(f.until) {
			f = found{until: now.Add(every)}
			if i, err := net.InterfaceByName(name); err == nil {
				f.index = uint32(i.Index)
			}
			known[name] = f
		}
		return f.index
	}
}

// openFilter makes the filter and the counters, from a state if h is not nil.
func (r *runner) openFilter(ctx context.Context, h *stateHeader, snapshots io.Reader) error {
	cfg := r.cfg
	judge := cfg.Dedup
	if r.learner = newLearner(r); r.learner != nil {
		passAll(&judge)
	}
	detector, err := newDetector(&judge, h, snapshots)
	if err != nil {
		return err
	}
	r.phase.Store(&phase{detector: detector, cfg: &judge})
	if len(cfg.Distinct.Keys) == 0 {
		return nil
	}
	if r.reports, err = openReports(ctx, cfg.Reports, cfg.Distinct.Calendar.Location, r.log, r.capture.Stop); err != nil {
		return err
	}
	if cfg.Reopen != nil {
		cfg.Reopen(r.reports.file.Reopen)
	}
	cfg.Distinct.Rows = r.reports.rows
	cfg.Distinct.Inner, cfg.Distinct.Tunnels = cfg.Dedup.Identity.Kind == identity.Inner, cfg.Dedup.Identity.Tunnels
	if cfg.Save != "" {
		if err := os.MkdirAll(cfg.Save, 0o755); err != nil {
			return err
		}
		r.saver = &saver{log: r.log, folder: count.NewSavedFolder(cfg.Save, cfg.Distinct.SaveHeader(cfg.Sensor))}
		cfg.Distinct.Save = r.saver.save
	}
	r.counter, err = newCounter(&cfg.Distinct, h, snapshots)
	return err
}

// abort releases the resources that open has opened.
func (r *runner) abort() error {
	var errs []error
	if r.capture != nil {
		errs = append(errs, r.capture.Close())
	}
	if r.outputs != nil {
		errs = append(errs, r.outputs.Discard())
	}
	return errors.Join(append(errs, r.closeFilter(), r.unlock())...)
}

// unlock lets other runs use the state file.
func (r *runner) unlock() error {
	if r.lock == nil {
		return nil
	}
	return r.lock.Unlock()
}

// end completes the outputs, saves the state, publishes the last status, and closes the
// windows.
func (r *runner) end() error {
	errs := []error{r.outputs.Commit()}
	saved := false
	if r.counter != nil {
		errs = append(errs, r.counter.Flush())
	}
	if r.state != nil {
		err := r.state.end()
		saved = err == nil
		errs = append(errs, err, r.unlock())
	}
	r.ticker.end()
	if r.counter != nil {
		errs = append(errs, r.endCounter(saved), r.reports.close(), r.saver.close())
	}
	return errors.Join(append(errs, r.learner.close(), r.detector().Close())...)
}

// detector judges the packets that are judged next.
func (r *runner) detector() *copies.Detector { return r.phase.Load().detector }

// endCounter reports the counts of open windows, unless they were saved: then the next
// run reports them when their windows end.
func (r *runner) endCounter(saved bool) error {
	if saved {
		return r.counter.Abandon()
	}
	r.counter.Ended(r.ticker.now.UnixNano())
	return r.counter.Close()
}
