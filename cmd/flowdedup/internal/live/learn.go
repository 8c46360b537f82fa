// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	copies "github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/identity"
	measure "github.com/flowdedup/flowdedup/cmd/flowdedup/internal/analysis/inspect"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/verdict"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/window"
	"github.com/flowdedup/flowdedup/layout"
)

// learnConfig configures how a run learns what to remove. With the zero value it does not.
type learnConfig struct {
	// For is how long packets are inspected before each decision. Until the first decision all
	// packets are kept.
	For time.Duration
	// Every is how long a decision holds, from its inspection to the next.
	Every time.Duration
	// Hold returns the longest wait for better copies within a window that was chosen.
	Hold func(window.Window) time.Duration
	// Intact says whether Dedup.Choice.Intact fits an identity.
	Intact func(identity.Config) bool
}

// phase is how packets are judged between two decisions.
type phase struct {
	detector *copies.Detector
	cfg      *dedup.Config
	// before is the phase before, whose packets may still wait for better copies. The first
	// Write of this phase sets it to nil.
	before *phase
}

// learner decides which copies are removed. Its methods are called in the order of the stream,
// except inspected.
type learner struct {
	run *runner
	cfg *learnConfig
	log *slog.Logger
	// inspector measures; nil between inspections. Workers read it ahead of their turn.
	inspector atomic.Pointer[measure.Inspector]
	until     time.Time // the end of the inspection
	next      time.Time // the begin of the next inspection
	// decided holds a decision that is ready to take effect. deciding is set while a decision is
	// being made. Meanwhile no other inspection begins.
	decided  chan *decision
	deciding bool
	last     choice
	learned  monitor.Learned
	old      *phase // closed at the next decision, when no worker has it any more
}

// decision is the next configuration, with the parts made for it; detector is nil if nothing
// changes.
type decision struct {
	choice
	learned  monitor.Learned
	detector *copies.Detector
	cfg      *dedup.Config
	err      error
}

// choice has the settings that an inspection chooses.
type choice struct {
	dedup, across bool
	identity      identity.Kind
	bytes         int
	ignore        string
	window        time.Duration
}

func newLearner(r *runner) *learner {
	if r.cfg.Learn.For == 0 {
		return nil
	}
	l := &learner{run: r, cfg: &r.cfg.Learn, log: r.log, decided: make(chan *decision, 1)}
	l.learned.Ignore, l.learned.Advice = []string{}, []string{}
	return l
}

// tick begins and ends inspections that are due.
func (l *learner) tick(now time.Time) {
	if l == nil {
		return
	}
	inspector := l.inspector.Load()
	switch {
	case inspector == nil && !now.Before(l.next) && !l.deciding:
		l.begin(now)
	case inspector != nil && now.After(l.until):
		l.end(inspector)
	}
	select {
	case d := <-l.decided:
		l.deciding = false
		l.follow(d, now)
	default:
	}
}

// begin begins an inspection.
func (l *learner) begin(now time.Time) {
	seed := l.run.cfg.Dedup.Secret.AESKey(engine.UseSightings)
	l.inspector.Store(measure.New(measure.Config{
		Key: l.run.cfg.Dedup.Secret.AESKey(engine.UsePackets), Seed: binary.LittleEndian.Uint64(seed[:]),
		Tunnels: l.run.cfg.Dedup.Identity.Tunnels,
	}))
	l.until, l.next = now.Add(l.cfg.For), now.Add(l.cfg.For+l.cfg.Every)
	l.learned.Inspecting = true
	l.log.Info("inspecting packets to learn what to remove", "for", l.cfg.For)
}

// end ends an inspection. Its decision is prepared concurrently with the work on packets.
func (l *learner) end(inspector *measure.Inspector) {
	l.inspector.Store(nil)
	l.learned.Inspecting = false
	report := inspector.Report()
	err := inspector.Close()
	d := &decision{choice: choiceOf(&report.Recommendation), err: err}
	d.learned = learnedOf(report, &l.run.cfg.Dedup.Choice)
	l.decide(d)
}

// decide prepares a decision, if it changes something. A large filter takes long to make.
func (l *learner) decide(d *decision) {
	l.deciding = true
	if d.choice == l.last && l.learned.Decisions > 0 {
		l.decided <- d
		return
	}
	go func() {
		l.prepare(d)
		l.decided <- d
	}()
}

// prepare makes the Detector of a decision.
func (l *learner) prepare(d *decision) {
	d.cfg = l.config(&d.choice)
	if d.detector, d.err = dedup.New(d.cfg, 0); d.err == nil {
		d.err = d.detector.Populate(context.Background())
	}
}

func choiceOf(r *measure.Recommendation) choice {
	if !r.Dedup {
		return choice{}
	}
	return choice{
		dedup: true, across: r.Across, identity: r.Identity, bytes: r.IdentityBytes,
		ignore: strings.Join(r.Ignore, ","), window: r.Window,
	}
}

// config returns the configuration of a choice.
func (l *learner) config(c *choice) *dedup.Config {
	cfg := l.run.cfg.Dedup
	if !c.dedup {
		passAll(&cfg)
		return &cfg
	}
	cfg.Window, cfg.Across = window.Window{Duration: c.window}, c.across
	cfg.Identity = identity.Config{Kind: c.identity, Bytes: c.bytes, Tunnels: cfg.Identity.Tunnels}
	if c.ignore != "" {
		ignore, err := identity.ParseIgnore(c.ignore)
		if err != nil {
			panic("live: " + err.Error()) // inspect recommends fields that exist
		}
		cfg.Identity.Ignore = ignore
	}
	cfg.Choice.Intact = l.cfg.Intact(cfg.Identity)
	if cfg.Choice.Flow || len(cfg.Choice.Prefer) > 0 || cfg.Choice.Intact {
		cfg.Choice.Hold, cfg.Choice.Delay = l.cfg.Hold(cfg.Window), l.run.cfg.Ring.BlockTimeout
	}
	return &cfg
}

// passAll makes a configuration keep all packets, in little memory.
func passAll(cfg *dedup.Config) {
	cfg.Pass, cfg.Method, cfg.Memory = true, "auto", layout.LineSize<<10
	cfg.Choice.Flow, cfg.Choice.Intact, cfg.Choice.Hold = false, false, 0
}

// follow makes a decision take effect.
func (l *learner) follow(d *decision, now time.Time) {
	if d.err != nil {
		l.log.Error("the recommendation cannot be used, so nothing changes", "error", d.err)
		return
	}
	passed, decisions := l.learned.Passed, l.learned.Decisions
	l.learned = d.learned
	l.learned.Passed, l.learned.Decisions = passed, decisions+1
	l.learned.Decided = now.UTC().Format(time.RFC3339)
	l.log.Info("learned", "verdict", d.learned.Verdict, "conclusion", d.learned.Conclusion, "dedup", d.dedup, "identity", d.learned.Identity, "window", d.learned.Window,
		"ignore", strings.Join(d.learned.Ignore, ","), "across", d.across, "keep", d.learned.Keep, "changed", d.detector != nil)
	for _, advice := range d.learned.Advice {
		l.log.Warn("left to you: " + advice)
	}
	if d.detector == nil {
		return
	}
	l.last = d.choice
	before := l.run.phase.Load()
	d.detector.Continue(before.detector.Counts())
	l.run.phase.Store(&phase{detector: d.detector, cfg: d.cfg, before: before})
	if err := l.closeOld(); err != nil {
		l.log.Error("memory of an earlier filter", "error", err)
	}
	l.old = before
}

// closeOld frees the filter of an earlier phase.
func (l *learner) closeOld() error {
	if l == nil || l.old == nil {
		return nil
	}
	old := l.old
	l.old = nil
	return old.detector.Close()
}

// close ends learning.
func (l *learner) close() error {
	if l == nil {
		return nil
	}
	if inspector := l.inspector.Swap(nil); inspector != nil {
		if err := inspector.Close(); err != nil {
			return fmt.Errorf("inspection: %w", err)
		}
	}
	return l.closeOld()
}

// state returns the state of learning; nil without learning.
func (l *learner) state() *monitor.Learned {
	if l == nil {
		return nil
	}
	s := l.learned
	return &s
}

// learnedOf describes a decision of a run that keeps copies so.
func learnedOf(r *measure.Report, of *dedup.Choice) monitor.Learned {
	c := &r.Recommendation
	n := monitor.Learned{Verdict: verdict.Of(r), Conclusion: string(r.Conclusion), Dedup: c.Dedup, Ignore: []string{}, Advice: []string{}}
	if !c.Dedup {
		return n
	}
	n.Identity, n.Window, n.Across, n.Keep = c.Identity.String(), window.Window{Duration: c.Window}.String(), c.Across, "first"
	if of.Flow {
		n.Keep = "flow"
	}
	n.Ignore = append(n.Ignore, c.Ignore...)
	if len(c.Strip) > 0 && !slices.Contains(of.Strip, "vlan") {
		n.Advice = append(n.Advice, "--strip "+strings.Join(c.Strip, ",")+" would join the sides of conversations")
	}
	return n
}

// inspecting is the inspection of a batch.
type inspecting struct {
	inspector *measure.Inspector // that batch belongs to
	batch     *measure.Batch
	prepared  bool
}

// prepare decodes and digests the packets, if they are inspected.
func (k *inspecting) prepare(l *learner, b *capture.Batch) {
	k.prepared = false
	if l == nil {
		return
	}
	inspector := l.inspector.Load()
	if inspector != k.inspector {
		k.inspector, k.batch = inspector, nil
		if inspector != nil {
			k.batch = inspector.NewBatch()
		}
	}
	if k.batch != nil {
		k.batch.Prepare(b)
		k.prepared = true
	}
}

// apply measures the packets, unless the inspection has ended meanwhile.
func (k *inspecting) apply(l *learner, p *phase, b *capture.Batch) {
	if l == nil {
		return
	}
	if p.cfg.Pass {
		l.learned.Passed += uint64(len(b.Frames))
	}
	if k.prepared && k.inspector == l.inspector.Load() {
		k.inspector.Add(k.batch, b)
	}
}

// learnFlags returns the flags of runs that learn what to remove.
func (f *flags) learnFlags() []cli.Flag {
	return []cli.Flag{
		{Name: "learn", Group: cli.GroupCompare, To: cli.NewParsed(&f.learn, "", "duration", cli.ParseLength), Words: []string{"10s", "1m"}, Needs: []string{"method=auto,timed"}, Not: []string{"identity identity-bytes ignore window across: --learn chooses it", "state: --learn chooses again after a restart"}, Help: "inspect packets for this time first, then choose what to remove: 1m"},
		{Name: "learn-every", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.learnEvery, "1h", "duration", cli.ParseLength), Words: []string{"1h", "1d"}, Needs: []string{"learn: how long to inspect"}, Help: "inspect again this often"},
	}
}

// learnConfig returns the configuration of learning.
func (f *flags) learnConfig() learnConfig {
	if f.learn == 0 {
		return learnConfig{}
	}
	return learnConfig{
		For: f.learn, Every: f.learnEvery, Intact: f.Intact,
		Hold: f.Hold,
	}
}
