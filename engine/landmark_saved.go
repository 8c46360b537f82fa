package engine

import (
	"fmt"
	"io"
	"math"

	"github.com/flowdedup/flowdedup/layout"
)

// maxLandmarkFilters is the most sub-filters that a snapshot may have: each has twice the lines
// of the one before.
const maxLandmarkFilters = 48

// fields lists what is saved of the filter and, behind that, the set bits of each sub-filter.
func (l *Landmark) fields(set *[]uint64) snapshotFields {
	return snapshotFields{
		&l.config.FPR, &l.config.Memory, &l.fullFPR, &l.rate, &l.missed, &l.count, &l.settled, &l.position,
		restFields{words: set, least: 1, most: maxLandmarkFilters},
	}
}

// Snapshot writes all that the filter remembers. A filter that RestoreLandmark makes
// of it goes on with the same verdicts. The secret is what the digests were made under;
// the snapshot is sealed with it. The label says what the elements are, as their key and
// digest ("flow, aes"), in MaxLabel bytes at most; a filter can only
// be restored with the same label. Errors are those of w, or wrap ErrSnapshot for a label
// that does not fit. It panics after Close.
func (l *Landmark) Snapshot(w io.Writer, secret Secret, label string) error {
	checkOpen("Landmark.Snapshot", l.active().arena)
	set := make([]uint64, len(l.filters))
	for i := range l.filters {
		set[i] = l.filters[i].set
	}
	out := newSnapshotWriter(w, snapshotLandmark, secret, label, l.fields(&set))
	for i := range l.filters {
		out.lines(l.filters[i].arena.Lines())
	}
	return out.end()
}

// RestoreLandmark makes the filter that Landmark.Snapshot wrote. It reads nothing
// behind the snapshot. Errors wrap ErrSnapshot if it is damaged, cut short, of another
// version, kind or label or made under another key, ErrMemory if it takes more memory than c
// allows, or are those of r and of layout.NewArena. c bounds what the filter takes now,
// not what it grows to.
func RestoreLandmark(r io.Reader, c RestoreConfig) (*Landmark, error) {
	var set []uint64
	l := &Landmark{newArena: layout.NewArena}
	in, err := newSnapshotReader(r, snapshotLandmark, c, l.fields(&set))
	if err != nil {
		return nil, err
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	if err := l.load(in, set, c); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// check returns an error unless the numbers are those of a filter.
func (l *Landmark) check() error {
	for _, v := range []struct {
		name       string
		value      float64
		least, top float64
	}{
		{"false positive rate", l.config.FPR, minFPR, maxFPR},
		{"rate of full parts", l.fullFPR, 0, 1}, {"rate", l.rate, 0, 1},
		{"expected number of misses", l.missed, 0, math.MaxInt64},
		{"position", float64(l.position), 0, counterStep},
		{"settled elements", float64(l.settled), 0, float64(l.count)},
	} {
		if !(v.value >= v.least && v.value <= v.top) {
			return fmt.Errorf("%w: %s is %g, must be from %g to %g", ErrSnapshot, v.name, v.value, v.least, v.top)
		}
	}
	return nil
}

// load makes the sub-filters, with so many bits set, and reads their lines.
func (l *Landmark) load(in *snapshotReader, set []uint64, c RestoreConfig) error {
	total := uint64(0)
	l.newArena = func(lines int) (*layout.Arena, error) {
		total += uint64(lines)
		if err := c.allow(total); err != nil {
			return nil, err
		}
		return layout.NewArena(lines)
	}
	defer func() { l.newArena = layout.NewArena }()
	for _, bits := range set {
		if err := l.add(); err != nil {
			return err
		}
		f := l.active()
		if f.set = bits; bits > uint64(len(f.arena.Lines()))*512 {
			return fmt.Errorf("%w: %d bits set in %d lines", ErrSnapshot, bits, len(f.arena.Lines()))
		}
		if err := in.lines(f.arena.Lines()); err != nil {
			return err
		}
	}
	return in.checkSeal("lines")
}
