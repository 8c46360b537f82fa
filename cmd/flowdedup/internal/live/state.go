package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/distinct"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/engine"
)

// state keeps the file that a run can be resumed from.
type state struct {
	run       *runner
	lock      *outfile.Lock
	next      time.Time
	snapshots pages
	writing   sync.WaitGroup

	mu     sync.Mutex // over what follows
	busy   bool       // a file is being written
	status State
	failed error // of the last file
}

// settings are the flags that a state depends on.
func (c *Config) settings() []setting {
	d := &c.Dedup
	all := []setting{
		{"--window", d.Window.String()}, {"--identity", d.Identity.Kind.String()},
		{"--identity-bytes", strconv.Itoa(d.Identity.Bytes)}, {"--ignore", fmt.Sprint(d.Identity.Ignore)},
		{"--digest", d.Digest}, {"--method", d.Method}, {"--memory", strconv.Itoa(d.Memory)},
		{"--fpr", strconv.FormatFloat(d.FPR, 'g', -1, 64)}, {"--refresh", strconv.FormatBool(d.Refresh)},
		{"--across", strconv.FormatBool(d.Across)},
	}
	if d.Across { // points are numbered by the order of interfaces
		all = append(all, setting{"-i", strings.Join(c.Ring.Interfaces, ", ")})
	}
	var of, shape []string
	for _, k := range c.Distinct.Keys {
		of = append(of, k.Of.String())
		shape = []string{strconv.Itoa(k.Mask4), strconv.Itoa(k.Mask6), strconv.FormatBool(k.VLAN)}
	}
	zone := ""
	if l := c.Distinct.Calendar.Location; l != nil && len(of) > 0 {
		zone = l.String()
	}
	return append(all, setting{"--of", strings.Join(of, ",")}, setting{"--mask4, --mask6, --vlan", strings.Join(shape, ", ")},
		setting{"--every", c.Distinct.Calendar.Every.String()},
		setting{"--slide", strconv.FormatBool(c.Distinct.Past > 0)}, setting{"--tz", zone})
}

// resume makes what judges and counts, of the state file if there is one, and takes the
// secret from it unless one was given.
func (r *runner) resume(ctx context.Context) error {
	cfg := r.cfg
	header, snapshots, err := (*stateHeader)(nil), io.Reader(nil), error(nil)
	if cfg.State != "" {
		if header, snapshots, err = readState(cfg.State); err != nil {
			return stateError(cfg.State, err)
		}
	}
	if header == nil {
		return r.openFilter(ctx, nil, nil)
	}
	var given *engine.Secret
	if cfg.KeyGiven {
		given = &cfg.Dedup.Secret
	}
	if err := header.fits(cfg.settings(), given); err != nil {
		return stateError(cfg.State, err)
	}
	if given == nil {
		cfg.Dedup.Secret = engine.Secret(header.Secret)
		cfg.Distinct.Secret = cfg.Dedup.Secret
	}
	if header.Books.Points, err = r.places.resume(header.Books.Points, header.Names); err != nil {
		return fmt.Errorf("--state: list interfaces: %w", err)
	}
	if err := r.openFilter(ctx, header, snapshots); err != nil {
		return stateError(cfg.State, err)
	}
	r.begin, r.reasons.counts = header.Begin, header.Reasons
	r.log.Info("resumed", "state", cfg.State, "saved", header.Saved, "packets", header.Books.Packets)
	return nil
}

// stateError names the file, and says what can be done about what it holds.
func stateError(name string, err error) error {
	if errors.Is(err, engine.ErrSnapshot) {
		err = fmt.Errorf("%w: %w", ErrState, err)
	}
	if errors.Is(err, ErrState) {
		return fmt.Errorf("--state %s: %w; remove it to begin anew, or name another file", name, err)
	}
	return fmt.Errorf("--state: %w", err)
}

// newJudging and newCounting begin anew, or go on from a state.
func newJudging(cfg *dedup.Config, h *stateHeader, snapshots io.Reader) (*dedup.Judging, error) {
	if h == nil {
		return dedup.NewJudging(cfg, 0)
	}
	return dedup.ResumeJudging(cfg, snapshots, &h.Books)
}

func newCounting(cfg *distinct.Config, h *stateHeader, snapshots io.Reader) (*distinct.Counting, error) {
	c := distinct.NewCounting(cfg)
	if h == nil {
		return c, nil
	}
	return c, c.Resume(snapshots, &h.Open)
}

// openState prepares to save the run, if it is to be saved, and does so once: what
// cannot be written is told at the begin.
func (r *runner) openState() error {
	if r.cfg.State == "" {
		return nil
	}
	lock, err := outfile.LockName(r.cfg.State)
	if err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	s := &state{run: r, lock: lock, status: State{Name: r.cfg.State}}
	r.state = s
	if err := s.save(time.Now()); err != nil {
		return err
	}
	return s.wait()
}

// look saves the run if it is time to. It is called between batches.
func (s *state) look(now time.Time) error {
	s.mu.Lock()
	busy := s.busy
	s.mu.Unlock()
	if busy || now.Before(s.next) {
		return nil
	}
	return s.save(now)
}

// save copies the run, between two batches, and has the copy written while packets go
// on. The error is that of a run that cannot be copied.
func (s *state) save(now time.Time) error {
	r := s.run
	s.next = now.Add(r.cfg.StateEvery)
	s.snapshots.reset()
	h := &stateHeader{Saved: now, Settings: r.cfg.settings(), Begin: r.begin, Reasons: r.reasons.counts}
	if !r.cfg.KeyGiven {
		h.Secret = r.cfg.Dedup.Secret[:]
	}
	var err error
	if h.Books, err = r.judging.Save(&s.snapshots); err != nil {
		return stateError(r.cfg.State, err)
	}
	h.Names = r.places.of(h.Books.Points)
	if r.counting != nil {
		if h.Open, err = r.counting.Save(&s.snapshots); err != nil {
			return stateError(r.cfg.State, err)
		}
	}
	s.mu.Lock()
	s.busy = true
	s.mu.Unlock()
	s.writing.Go(func() { s.written(h, now) })
	return nil
}

// written writes the copy, and notes what came of it.
func (s *state) written(h *stateHeader, now time.Time) {
	size, err := s.write(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
	switch {
	case err == nil:
		s.status.Saved, s.status.Bytes, s.status.Failed = now, size, ""
		s.run.log.Debug("state saved", "state", s.status.Name, "bytes", size)
	default:
		s.status.Failed = err.Error()
		if s.failed == nil && !s.status.Saved.IsZero() { // the first time, the run ends with it
			s.run.log.Error("state not saved", "state", s.status.Name, "error", err)
		}
	}
	s.failed = err
}

// write puts the copy in the place of the file before.
func (s *state) write(h *stateHeader) (size int64, err error) {
	out, err := outfile.Create(context.Background(), s.run.cfg.State, outfile.Options{Private: true, Plain: true, Locked: true})
	if err != nil {
		return 0, err
	}
	if size, err = h.write(out, &s.snapshots); err != nil {
		return 0, errors.Join(err, out.Discard())
	}
	return size, out.Commit()
}

// wait returns why the last copy could not be written, when that has ended.
func (s *state) wait() error {
	s.writing.Wait()
	if s.failed != nil {
		return fmt.Errorf("--state: %w: %w", sink.ErrOutput, s.failed)
	}
	return nil
}

// end saves the run for the last time.
func (s *state) end() error {
	s.writing.Wait()
	err := s.save(time.Now())
	if err == nil {
		err = s.wait()
	}
	return errors.Join(err, s.lock.Unlock())
}

// show returns what is to be seen of it, nil for no state.
func (s *state) show() *State {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	return &status
}
