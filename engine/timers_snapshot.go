package engine

import (
	"fmt"
	"io"
	"time"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/layout"
)

// timersFieldCount: 7 of the configuration, 8 of the stream.
const timersFieldCount = 7 + 8

// Snapshot writes all that the filter remembers. A filter that RestoreTimers makes of it
// goes on with the same verdicts. The secret is what the digests were made under; the
// snapshot is sealed with it. The label says what the elements are, in MaxLabel bytes at
// most; a filter can only be restored with the same label. Errors are those of w, or wrap
// ErrSnapshot for a label that does not fit. It panics after Close.
func (f *Timers) Snapshot(w io.Writer, secret Secret, label string) error {
	checkOpen("Timers.Snapshot", f.arena)
	lines := len(f.arena.Lines())
	c := &f.config
	out := newSnapshotWriter(w, snapshotTimers, secret, label, []uint64{
		uint64(c.Window.Duration), uint64(c.Window.Packets), uint64(lines),
		uint64(c.K), uint64(c.TimerBits), uint64(c.Equal), flagWord(c.Refresh),
		f.position, flagWord(f.started), f.now, f.swept, f.votes, f.peak, f.counts.NonZero, f.counts.Missed,
	})
	f.copying = out.shared(f.arena, 0, lines)
	return out.end()
}

// RestoreTimers makes the filter that Timers.Snapshot wrote. It reads nothing behind the
// snapshot. Errors wrap ErrSnapshot if it is damaged, cut short, of another version, kind
// or label or made under another key, ErrMemory if it takes more memory than c allows, or
// are those of r and of layout.NewArena.
func RestoreTimers(r io.Reader, c RestoreConfig) (*Timers, error) {
	in, words, err := newSnapshotReader(r, snapshotTimers, c, timersFieldCount, timersFieldCount)
	if err != nil {
		return nil, err
	}
	f, err := timersOf(&snapshotFields{words}, c)
	if err != nil {
		return nil, err
	}
	err = in.lines(f.arena.Lines())
	if err == nil {
		err = in.checkSeal("lines")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// timersOf makes the filter of a snapshot's fields, without what lines hold.
func timersOf(from *snapshotFields, c RestoreConfig) (*Timers, error) {
	config := TimersConfig{Window: Window{Duration: time.Duration(from.next()), Packets: int64(from.next())}}
	lines := from.next()
	if err := c.allow(lines); err != nil {
		return nil, err
	}
	config.Memory = int(lines) * layout.LineSize
	config.K, config.TimerBits, config.Equal, config.Refresh = from.number(), from.number(), from.number(), from.flag()
	if lines == 0 || config.K == 0 || config.TimerBits == 0 || config.Equal == 0 {
		return nil, fmt.Errorf("%w: %d lines, %d timers of %d bits", ErrSnapshot, lines, config.K, config.TimerBits)
	}
	if err := config.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	f, err := NewTimers(config)
	if err != nil {
		return nil, err
	}
	f.position, f.started, f.now, f.swept, f.votes, f.peak = from.next(), from.flag(), from.next(), from.next(), from.next(), from.next()
	f.counts = asm.TimerCounts{NonZero: from.next(), Missed: from.next()}
	if timers := f.timers(); f.swept > f.now || f.now-f.swept > f.most || f.votes >= timerVotes || f.peak > timers || f.counts.NonZero > timers {
		f.Close()
		return nil, fmt.Errorf("%w: parameters that do not belong together", ErrSnapshot)
	}
	return f, nil
}
