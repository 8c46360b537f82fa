package window

import (
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// timersState is what is saved of a filter beside its lines. The number of lines may be anything
// when it is read.
type timersState struct {
	config TimersConfig
	lines  uint64
	timersClock
	counts line.TimerCounts
}

func (s *timersState) fields() snapshot.Fields {
	c := &s.config
	return snapshot.Fields{
		&c.Window.Duration, &c.Window.Packets, &s.lines, &c.K, &c.TimerBits, &c.Equal, &c.Refresh,
		&s.position, &s.started, &s.now, &s.swept, &s.votes, &s.peak, &s.counts.NonZero, &s.counts.Missed,
	}
}

// Snapshot writes all that the filter remembers. A filter that RestoreTimers makes of it
// goes on with the same verdicts. The secret is what the digests were made under; the
// snapshot is sealed with it. The label says what the elements are, in MaxLabel bytes at
// most; a filter can only be restored with the same label. Errors are those of w, or wrap
// ErrInvalid for a label that does not fit. It panics after Close.
func (f *Timers) Snapshot(w io.Writer, secret secret.Secret, label string) error {
	mem.CheckOpen("Timers.Snapshot", f.arena)
	lines := len(f.arena.Lines())
	state := timersState{f.config, uint64(lines), f.timersClock, f.counts}
	out := snapshot.NewWriter(w, snapshot.Timers, secret, label, state.fields())
	f.copying = out.SharedLines(f.arena, 0, lines)
	return out.End()
}

// RestoreTimers makes the filter that Timers.Snapshot wrote. It reads nothing behind the
// snapshot. Errors wrap ErrInvalid if it is damaged, cut short, of another version, kind
// or label or made under another key, ErrMemory if it takes more memory than c allows, or
// are those of r and of layout.NewArena.
func RestoreTimers(r io.Reader, c snapshot.RestoreConfig) (*Timers, error) {
	var s timersState
	in, err := snapshot.NewReader(r, snapshot.Timers, c, s.fields())
	if err != nil {
		return nil, err
	}
	f, err := s.filter(c)
	if err != nil {
		return nil, err
	}
	err = in.Lines(f.arena.Lines())
	if err == nil {
		err = in.CheckSeal("lines")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// filter makes the filter that was saved, without what its lines hold.
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
	f.timersClock, f.counts = s.timersClock, s.counts
	if timers := f.timers(); f.swept > f.now || f.now-f.swept > f.sweepInterval || f.votes >= timerVotes || f.peak > timers || f.counts.NonZero > timers {
		f.Close()
		return nil, snapshot.ErrInconsistent
	}
	return f, nil
}
