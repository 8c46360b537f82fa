package engine

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/layout"
)

// timedFieldCount: 8 of the configuration, 5 of the stream, and the demand.
const timedFieldCount = 8 + 5 + windowSlices + 1 + 7

// Snapshot writes all that the filter remembers. A filter that RestoreTimed makes of it
// goes on with the same verdicts. The secret is what the digests were made under; the
// snapshot is sealed with it. The label says what the elements are, as their key and
// digest ("flow, aes"), in MaxLabel bytes at most; only who gives the same can restore
// the filter. Errors are those of w, or wrap ErrSnapshot for a label that does not fit.
// It panics after Close.
func (t *Timed) Snapshot(w io.Writer, secret Secret, label string) error {
	checkOpen("Timed.Snapshot", t.arena)
	counts := t.counts()
	fields := []uint64{
		uint64(t.kind.Duration), uint64(t.kind.Packets), flagWord(t.kind.None),
		uint64(len(t.arena.Lines())), uint64(t.params.FPBits),
		flagWord(t.params.Refresh), flagWord(t.params.Across), uint64(t.params.Origin),
		flagWord(t.started), t.position, counts.Inserted, counts.EvictedLive, uint64(t.demand.start),
	}
	fields = append(fields, t.demand.kept[:]...)
	fields = append(fields, uint64(t.demand.now), t.demand.live, t.demand.peak,
		uint64(t.demand.size), t.demand.fresh, uint64(t.demand.first), t.demand.length)
	out := newSnapshotWriter(w, snapshotTimed, secret, label, fields)
	t.copying = out.shared(t.arena)
	return out.end()
}

// RestoreTimed makes the filter that Timed.Snapshot wrote. It reads nothing behind
// the snapshot. Errors wrap ErrSnapshot if it is damaged, cut short, of another
// version, kind or label or made under another key, ErrMemory if it takes more memory
// than c allows, ErrWorkers if the workers do not fit, or are those of r and of
// layout.NewArena.
func RestoreTimed(r io.Reader, c RestoreConfig) (*Timed, error) {
	in, words, err := newSnapshotReader(r, snapshotTimed, c, timedFieldCount, timedFieldCount)
	if err != nil {
		return nil, err
	}
	t, err := timedOf(&snapshotFields{words}, c)
	if err != nil {
		return nil, err
	}
	err = in.lines(t.arena.Lines())
	if err == nil {
		err = in.checkSeal("lines")
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// timedOf makes the filter of a snapshot's fields, without its lines.
func timedOf(f *snapshotFields, c RestoreConfig) (*Timed, error) {
	window := Window{Duration: time.Duration(f.next()), Packets: int64(f.next()), None: f.flag()}
	lines, fpBits := f.next(), f.next()
	if err := c.allow(lines); err != nil {
		return nil, err
	}
	if lines == 0 || fpBits >= asm.TimedCellBits {
		return nil, fmt.Errorf("%w: %d lines, fingerprints of %d bits", ErrSnapshot, lines, fpBits)
	}
	config := TimedConfig{
		Window: window, Memory: int(lines) * layout.LineSize,
		FPR: timedFPR(uint(min(fpBits, 63))), Refresh: f.flag(), Across: f.flag(), Workers: c.Workers,
	}
	_, err := cellShape(config)
	if err == nil {
		err = window.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	t, err := NewTimed(config)
	if err != nil {
		return nil, err
	}
	length := t.demand.length
	t.fill(f)
	if uint64(t.params.FPBits) != fpBits || t.demand.length != length || t.demand.now > windowSlices || t.demand.size >= demandGroup {
		t.Close()
		return nil, fmt.Errorf("%w: parameters that do not belong together", ErrSnapshot)
	}
	return t, nil
}

// fill takes over what the filter knows of its stream.
func (t *Timed) fill(f *snapshotFields) {
	t.params.Origin = int64(f.next())
	t.started = f.flag()
	t.position = f.next()
	t.kernels[0].counts = asm.TimedCounts{Inserted: f.next(), EvictedLive: f.next()}
	t.demand.start = int64(f.next())
	for i := range t.demand.kept {
		t.demand.kept[i] = f.next()
	}
	t.demand.now = int(min(f.next(), math.MaxInt32))
	t.demand.live, t.demand.peak = f.next(), f.next()
	t.demand.size, t.demand.fresh, t.demand.first = int(min(f.next(), math.MaxInt32)), f.next(), int64(f.next())
	t.demand.length = f.next()
}
