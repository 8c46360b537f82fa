// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// timersState is the saved state of a filter except its lines.
type timersState struct {
	config TimersConfig
	lines  uint64
	timersClock
	latest int64 // time of the clock
	votes  int   // of the clock
	counts line.TimerCounts
}

func (s *timersState) fields() snapshot.Fields {
	c := &s.config
	fields := snapshot.Fields{
		&c.Window.Duration, &c.Window.Packets, &s.lines, &c.K, &c.TimerBits, &c.Equal, &c.Refresh,
		&s.position, &s.started, &s.began, &s.now, &s.swept, &s.peak, &s.counts.NonZero, &s.counts.Missed,
		&s.latest, &s.votes, &s.forgotten, &s.late.late, &s.late.first, &s.late.by, &s.waiting,
	}
	for i := range s.held {
		h := &s.held[i]
		fields = append(fields, h.digest[:], &h.time, &h.isCopy, &h.late)
	}
	return fields
}

// Snapshot writes the filter's contents, for RestoreTimers. Arguments and errors are as
// in Timed.Snapshot.
func (f *Timers) Snapshot(w io.Writer, secret engine.Secret, label string) error {
	f.arena.CheckOpen("window: Timers.Snapshot")
	lines := len(f.arena.Lines())
	state := timersState{f.config, uint64(lines), f.timersClock, f.clock.Latest(), f.clock.Votes(), f.counts}
	out := snapshot.NewWriter(w, snapshot.Timers, secret, label, state.fields())
	f.copying = out.Lines(f.arena, 0, lines)
	return out.End()
}

// RestoreTimers reads the filter that Timers.Snapshot wrote, and nothing behind it. It
// returns the errors of RestoreTimed.
func RestoreTimers(r io.Reader, c snapshot.RestoreConfig) (*Timers, error) {
	var s timersState
	return snapshot.Restore(r, snapshot.Timers, c, s.fields(), s.filter, (*Timers).load)
}

func (f *Timers) load(in *snapshot.Reader) error { return in.Lines(f.arena.Lines()) }

// filter makes the filter that was saved, with empty lines.
func (s *timersState) filter(c snapshot.RestoreConfig) (*Timers, error) {
	if err := c.Allow(s.lines); err != nil {
		return nil, err
	}
	config := s.config
	config.Memory = int(s.lines) * layout.LineSize
	if s.lines == 0 || config.K == 0 || config.TimerBits == 0 || config.Equal == 0 {
		return nil, fmt.Errorf("%w: %d lines, %d timers of %d bits", snapshot.ErrInvalid, s.lines, config.K, config.TimerBits)
	}
	if err := config.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", snapshot.ErrInvalid, err)
	}
	f, err := NewTimers(config)
	if err != nil {
		return nil, err
	}
	if !f.resume(s) {
		f.Close()
		return nil, snapshot.ErrInconsistent
	}
	return f, nil
}

// resume takes over the saved state of the stream. It reports false if no filter can have
// this state.
func (f *Timers) resume(s *timersState) bool {
	f.timersClock, f.counts = s.timersClock, s.counts
	f.log.whole, f.log.missing = f.counts.NonZero == 0, f.now
	timers := f.timers()
	if f.began > f.swept || f.swept > f.now || f.now-f.swept > f.sweepInterval || f.peak > timers || f.counts.NonZero > timers {
		return false
	}
	if f.config.Window.Packets > 0 || !f.started {
		return f.waiting == 0
	}
	return f.now == f.tickOf(s.latest) && f.resumeClock(s.latest, s.votes)
}
