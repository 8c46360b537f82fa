package engine

import (
	"fmt"
	"io"
	"time"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/layout"
)

// timedFieldCount: 9 of the configuration, 5 of the stream, the demand, lateness, and growth.
const timedFieldCount = 9 + 5 + demandFieldCount + lateFieldCount + growthFieldCount

const (
	demandFieldCount = windowSlices + 1 + 12
	lateFieldCount   = lateSegments + 10
	growthFieldCount = 3 + 3*maxOlder
)

// Snapshot writes all that the filter remembers. A filter that RestoreTimed makes of it
// goes on with the same verdicts. The secret is what the digests were made under; the
// snapshot is sealed with it. The label says what the elements are, as their key and
// digest ("flow, aes"), in MaxLabel bytes at most; only who gives the same can restore
// the filter. Errors are those of w, or wrap ErrSnapshot for a label that does not fit.
// It panics after Close.
func (t *Timed) Snapshot(w io.Writer, secret Secret, label string) error {
	checkOpen("Timed.Snapshot", t.arena)
	counts := t.counts
	fields := []uint64{
		uint64(t.kind.Duration), uint64(t.kind.Packets), flagWord(t.kind.None),
		uint64(t.lines), uint64(t.params.FPBits),
		flagWord(t.params.Refresh), flagWord(t.params.Across), uint64(t.growth.limit), uint64(t.memory / layout.LineSize),
		uint64(t.params.Origin), flagWord(t.started), t.position, counts.Inserted, counts.EvictedLive,
	}
	fields = t.demand.save(fields)
	fields = t.demand.late.save(fields)
	fields = t.growth.save(fields)
	out := newSnapshotWriter(w, snapshotTimed, secret, label, fields)
	t.copying = out.shared(t.arena, 0, t.lines)
	for i := range t.growth.older { // which do not change
		arena := t.growth.older[i].arena
		out.shared(arena, 0, len(arena.Lines()))
	}
	return out.end()
}

// RestoreTimed makes the filter that Timed.Snapshot wrote. It reads nothing behind
// the snapshot. Errors wrap ErrSnapshot if it is damaged, cut short, of another
// version, kind or label or made under another key, ErrMemory if it takes more memory
// than c allows, or are those of r and of layout.NewArena.
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
	for i := 0; err == nil && i < len(t.growth.lines); i++ {
		err = in.lines(t.growth.lines[i])
	}
	if err == nil {
		err = in.checkSeal("lines")
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// timedOf makes the filter of a snapshot's fields, without what lines hold.
func timedOf(f *snapshotFields, c RestoreConfig) (*Timed, error) {
	window := Window{Duration: time.Duration(f.next()), Packets: int64(f.next()), None: f.flag()}
	lines, fpBits := f.next(), f.next()
	refresh, across, limit, all := f.flag(), f.flag(), f.next(), f.next()
	if err := c.allow(all); err != nil {
		return nil, err
	}
	if lines == 0 || lines > all || fpBits >= asm.TimedCellBits {
		return nil, fmt.Errorf("%w: %d of %d lines, fingerprints of %d bits", ErrSnapshot, lines, all, fpBits)
	}
	config := TimedConfig{
		Window: window, Memory: int(lines) * layout.LineSize,
		FPR: timedFPR(uint(min(fpBits, 63))), Refresh: refresh, Across: across,
	}
	_, err := cellShape(config)
	if err == nil {
		err = window.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if limit > 0 { // that of this machine may be another one
		config.Limit = int(min(limit, uint64(max(layout.MemoryBudget(), int(all)*layout.LineSize))))
	}
	t, err := NewTimed(config)
	if err != nil {
		return nil, err
	}
	if err := t.fill(f, fpBits, all); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// fill takes over what the filter knows of its stream, and makes its older lines.
func (t *Timed) fill(f *snapshotFields, fpBits, all uint64) error {
	t.params.Origin = int64(f.next())
	t.started = f.flag()
	t.position = f.next()
	t.counts = asm.TimedCounts{Inserted: f.next(), EvictedLive: f.next()}
	length := t.demand.length
	t.demand.fill(f)
	t.demand.late.fill(f)
	if uint64(t.params.FPBits) != fpBits || t.demand.length != length || t.demand.now > windowSlices ||
		t.demand.size >= demandGroup || t.demand.late.closed > lateSegments || t.demand.late.length == 0 {
		return fmt.Errorf("%w: parameters that do not belong together", ErrSnapshot)
	}
	return t.fillGrowth(f, all)
}

// fillGrowth makes older lines, so many with the present ones.
func (t *Timed) fillGrowth(f *snapshotFields, all uint64) error {
	g := &t.growth
	at, endAt, older := f.next(), f.next(), f.next()
	rest := all - uint64(t.lines)
	for i := range uint64(maxOlder) {
		lines, since, kept := f.next(), int64(f.next()), f.next()
		if i >= older {
			continue
		}
		if lines == 0 || lines > rest {
			return fmt.Errorf("%w: %d older lines of %d", ErrSnapshot, lines, rest)
		}
		rest -= lines
		arena, err := layout.NewArena(int(lines))
		if err != nil {
			return err
		}
		g.older = append(g.older, olderArena{arena, since, kept})
		g.lines = append(g.lines, arena.Lines())
	}
	if rest != 0 || older > maxOlder || g.limit == 0 && (at != 0 || older != 0) || at != 0 && at < t.position || endAt != 0 && (endAt < t.position || older == 0) {
		return fmt.Errorf("%w: older lines that do not belong there", ErrSnapshot)
	}
	t.memory = int(all) * layout.LineSize
	g.endAt = endAt
	t.demand.since, t.demand.until = t.oldest()
	if at != 0 && t.factor() > 1 {
		g.at, g.next = at, prepareArena(t.factor()*t.lines)
	}
	return nil
}

func (m *demand) save(fields []uint64) []uint64 {
	fields = append(append(fields, uint64(m.start)), m.kept[:]...)
	return append(fields, uint64(m.now), m.live, m.peak, uint64(m.size), m.fresh, uint64(m.first), m.length,
		m.groups, m.unsampled, m.over, m.pastAt)
}

func (m *demand) fill(f *snapshotFields) {
	m.start = int64(f.next())
	for i := range m.kept {
		m.kept[i] = f.next()
	}
	m.now, m.live, m.peak = f.number(), f.next(), f.next()
	m.size, m.fresh, m.first, m.length = f.number(), f.next(), int64(f.next()), f.next()
	m.groups, m.unsampled, m.over, m.pastAt = f.next(), f.next(), f.next(), f.next()
}

func (l *lateness) save(fields []uint64) []uint64 {
	for _, t := range l.least {
		fields = append(fields, uint64(t))
	}
	return append(fields, l.length, uint64(l.closed), uint64(l.low), l.kept, l.total,
		uint64(l.reached), uint64(l.forgotten), l.late, l.first, l.by)
}

func (l *lateness) fill(f *snapshotFields) {
	for i := range l.least {
		l.least[i] = int64(f.next())
	}
	l.length, l.closed, l.low, l.kept, l.total = f.next(), f.number(), int64(f.next()), f.next(), f.next()
	l.reached, l.forgotten, l.late, l.first, l.by = int64(f.next()), int64(f.next()), f.next(), f.next(), f.next()
}

func (g *growth) save(fields []uint64) []uint64 {
	fields = append(fields, g.at, g.endAt, uint64(len(g.older)))
	for i := range maxOlder {
		if i < len(g.older) {
			fields = append(fields, uint64(len(g.lines[i])), uint64(g.older[i].since), g.older[i].kept)
		} else {
			fields = append(fields, 0, 0, 0)
		}
	}
	return fields
}
