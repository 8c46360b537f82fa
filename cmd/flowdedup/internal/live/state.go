// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/bpf"

	copies "github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// state saves a run to the file that the run can be resumed from. A save first copies the run
// as of one moment, in parts between batches. Then it writes the copy while packets go
// on.
type state struct {
	run      *runner
	copy     snapshot.Copy
	header   *stateHeader // of the copy in progress, else nil
	lastPart time.Time    // when the last part was copied
	writing  sync.WaitGroup
	ended    atomic.Bool // the state being written has been superseded

	mu     sync.Mutex // guards the fields below
	busy   bool       // memory is reserved, or a file is written
	next   time.Time  // when the next copy begins
	status monitor.State
	failed error // of the last save
}

const (
	// copyShare limits a copy to 1/copyShare of the time.
	copyShare = 8
	// minCopy and maxCopy bound how long a part of a copy delays packets. A ring holds the
	// packets of many times as long.
	minCopy, maxCopy = time.Millisecond, 10 * time.Millisecond
	// slowSave is how long the last save may take before a message says that it runs.
	slowSave = time.Second
)

// memoryFlag is the setting that may change: a filter keeps its memory.
const memoryFlag = "--memory"

// settings returns the flags that a state depends on.
func (c *config) settings() []setting {
	d := &c.Dedup
	method := d.Method
	if len(d.Params) > 0 {
		method += " --param " + d.Params.String()
	}
	all := []setting{
		{"-i", strings.Join(c.Inputs, ", ")}, // points are numbered in this order
		{"--filter", c.Filter.Expr}, {"--bpf-file", programSum(c.Filter.Program)},
		{"--snaplen", strconv.Itoa(c.Ring.SnapLen)},
		{"--window", d.Window.String()}, {"--identity", d.Identity.Kind.String()},
		{"--identity-bytes", strconv.Itoa(d.Identity.Bytes)}, {"--ignore", fmt.Sprint(d.Identity.Ignore.Apply(d.Identity.Kind))},
		{"--digest", d.Digest}, {"--method", method}, {memoryFlag, strconv.Itoa(d.Memory)},
		{"--fpr", strconv.FormatFloat(d.FPR, 'g', -1, 64)}, {"--refresh", strconv.FormatBool(d.Refresh)},
		{"--across", strconv.FormatBool(d.Across)},
	}
	verify := "" // as in states of runs without
	if d.Verify > 0 {
		verify = strconv.Itoa(d.Verify)
	}
	of, mask4, mask6, vlan, zone := []string(nil), "", "", "", ""
	for _, k := range c.Distinct.Keys { // they differ only in Of
		of = append(of, k.Kind.String())
		mask4, mask6, vlan = strconv.Itoa(k.Mask4), strconv.Itoa(k.Mask6), strconv.FormatBool(k.VLAN)
	}
	if l := c.Distinct.Calendar.Location; l != nil && (len(of) > 0 || d.Window.Landmark) {
		zone = l.String()
	}
	return append(all, setting{"--of", strings.Join(of, ",")},
		setting{"--mask4", mask4}, setting{"--mask6", mask6}, setting{"--vlan", vlan},
		setting{"--every", c.Distinct.Calendar.Every.String()},
		setting{"--slide", strconv.FormatBool(c.Distinct.Past > 0)}, setting{"--tz", zone},
		setting{"--within", strings.Join(d.Within, ",")}, setting{"--only", textOf(d.Only)},
		setting{"--verify-copies", verify}, setting{"--tunnel", d.Identity.Tunnels.String()})
}

// textOf identifies conditions by their texts.
func textOf(conditions []input.Condition) string {
	var all []string
	for i := range conditions {
		all = append(all, conditions[i].String())
	}
	return strings.Join(all, ", or ")
}

// programSum identifies a program of --bpf-file by its instructions, whatever the layout
// of the file; "" is none.
func programSum(program []bpf.RawInstruction) string {
	if len(program) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, i := range program {
		fmt.Fprintln(sum, i.Op, i.Jt, i.Jf, i.K)
	}
	return fmt.Sprintf("sha256:%x", sum.Sum(nil)[:8])
}

// newDetector and newCounter start from nothing, or continue from a state.
func newDetector(cfg *dedup.Config, h *stateHeader, snapshots io.Reader) (*copies.Detector, error) {
	if h == nil {
		return dedup.New(cfg, 0)
	}
	return dedup.Resume(cfg, snapshots, &h.Stats)
}

func newCounter(cfg *count.Config, h *stateHeader, snapshots io.Reader) (*count.Counter, error) {
	c := count.NewCounter(cfg)
	if h == nil {
		return c, nil
	}
	return c, c.Resume(snapshots, &h.Open, time.Now().UnixNano())
}

// openState prepares to save the run, if it is to be saved. It reports a file that cannot
// be written at once; the first save is made while packets come in.
func (r *runner) openState() error {
	if r.cfg.State == "" {
		return nil
	}
	out, err := createState(r.cfg.State)
	if err != nil {
		return fmt.Errorf("--state: %w: %w", sink.ErrOutput, err)
	}
	if err := out.Discard(); err != nil {
		return fmt.Errorf("--state: %w: %w", sink.ErrOutput, err)
	}
	r.state = &state{run: r, status: monitor.State{Name: r.cfg.State}}
	return nil
}

// createState opens a file for a state. No ending of its name makes it compressed.
func createState(name string) (*outfile.File, error) {
	return outfile.CreateState(context.Background(), name, stateMagic)
}

// tick starts a save that is due, or continues a save. It is called between batches. It
// returns an error if the run cannot be copied.
func (s *state) tick(now time.Time) error {
	switch {
	case s == nil:
		return nil
	case s.header != nil:
		s.copyPart(now)
		return nil
	case s.due(now):
		return s.begin(now)
	}
	return nil
}

func (s *state) due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.busy && !now.Before(s.next)
}

// begin starts a copy as of now. If the copy has no memory yet, it reserves that in the
// background instead.
func (s *state) begin(now time.Time) error {
	h, err := s.record(now)
	if err != nil {
		return err
	}
	if !s.copy.Start() {
		s.reserve(now)
		return nil
	}
	s.header, s.lastPart = h, now
	s.wait(now)
	return nil
}

// wait schedules the next save.
func (s *state) wait(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = now.Add(s.run.cfg.StateEvery)
}

// reserve allocates memory for a copy.
func (s *state) reserve(now time.Time) {
	lines := s.copy.Lines()
	s.copy.Reset()
	s.background(func() {
		if err := s.copy.Reserve(lines, s.ended.Load); err != nil {
			s.wait(now)
			s.saved(0, now, err)
		}
	})
}

// background runs do while packets go on. No copy is made meanwhile.
func (s *state) background(do func()) {
	s.mu.Lock()
	s.busy = true
	s.mu.Unlock()
	s.writing.Go(func() {
		behindPackets()
		do()
		s.mu.Lock()
		s.busy = false
		s.mu.Unlock()
	})
}

// record describes the current state of the run, and points the copy at it.
func (s *state) record(now time.Time) (*stateHeader, error) {
	r := s.run
	s.copy.Reset()
	h := &stateHeader{Saved: now, Settings: r.cfg.settings(), Begin: r.begin, Diffs: r.diffs.Counts}
	if !r.cfg.KeyGiven {
		h.Secret = r.cfg.Dedup.Secret[:]
	}
	var err error
	p := r.phase.Load()
	if h.Stats, err = dedup.Save(p.cfg, p.detector, &s.copy); err != nil {
		return nil, stateError(r.cfg.State, err)
	}
	h.Names = r.names.of(h.Stats.Points)
	if r.counter != nil {
		if h.Open, err = r.counter.Save(&s.copy); err != nil {
			return nil, stateError(r.cfg.State, err)
		}
	}
	return h, nil
}

// copyPart continues a copy, for its share of the time since the last part.
func (s *state) copyPart(now time.Time) {
	during := min(now.Sub(s.lastPart)/copyShare, maxCopy)
	if during < minCopy {
		return
	}
	done := s.copy.Copy(during)
	s.lastPart = time.Now()
	if !done {
		return
	}
	h := s.header
	s.header = nil
	s.background(func() {
		size, err := s.write(h, s.ended.Load)
		s.saved(size, h.Saved, err)
	})
}

// errSuperseded ends the writing of a state that a newer state will replace.
var errSuperseded = errors.New("another state is saved")

// write replaces the file by the copy, unless it is stopped.
func (s *state) write(h *stateHeader, stopped func() bool) (size int64, err error) {
	out, err := createState(s.run.cfg.State)
	if err != nil {
		return 0, err
	}
	size, err = h.write(stoppableWriter{out, stopped}, &s.copy)
	if err == nil && stopped() {
		err = errSuperseded
	}
	if err != nil {
		return 0, errors.Join(err, out.Discard())
	}
	return size, out.Commit()
}

// stoppableWriter fails after it was stopped.
type stoppableWriter struct {
	io.Writer
	stopped func() bool
}

func (w stoppableWriter) Write(p []byte) (int, error) {
	if w.stopped() {
		return 0, errSuperseded
	}
	return w.Writer.Write(p)
}

// saved records the result of a save, and logs when it changes.
func (s *state) saved(size int64, at time.Time, err error) {
	if errors.Is(err, errSuperseded) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.run.log.With("state", s.status.Name)
	switch {
	case err != nil:
		s.status.Failed = err.Error()
		if s.failed == nil {
			log.Error("state not saved", "error", err)
		}
	default:
		s.status.Saved, s.status.Bytes, s.status.Failed = at, size, ""
		if s.failed != nil {
			log.Info("state saved again", "bytes", size)
		} else {
			log.Debug("state saved", "bytes", size)
		}
	}
	s.failed = err
}

// end saves the run for the last time, without a copy. It abandons a save in progress,
// and waits only for the system call that it is in.
func (s *state) end() error {
	slow := time.AfterFunc(slowSave, func() { s.run.log.Info("saving the state", "state", s.run.cfg.State) })
	defer slow.Stop()
	s.ended.Store(true)
	s.writing.Wait()
	s.header = nil
	h, err := s.record(time.Now())
	if err != nil {
		return errors.Join(err, s.copy.Close())
	}
	size, err := s.write(h, func() bool { return false })
	if err = errors.Join(err, s.copy.Close()); err != nil {
		s.status.Failed = err.Error()
		return fmt.Errorf("--state: %w: %w", sink.ErrOutput, err)
	}
	s.saved(size, h.Saved, nil)
	return nil
}

// show returns the state for a status, nil for no state.
func (s *state) show() *monitor.State {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	return &status
}
