package engine

import (
	"fmt"
	"io"
	"math"

	"github.com/flowdedup/flowdedup/layout"
)

// The fields of a Landmark's snapshot: these, and then the set bits of each
// sub-filter.
const (
	landmarkFieldCount = 8
	maxLandmarkFilters = 48 // each has twice the lines of the one before
)

// Snapshot writes all that the filter remembers. A filter that RestoreLandmark makes
// of it goes on with the same verdicts. The secret is what the digests were made under;
// the snapshot is sealed with it. The label says what the elements are, as their key and
// digest ("flow, aes"), in MaxLabel bytes at most; only who gives the same can restore
// the filter. Errors are those of w, or wrap ErrSnapshot for a label that does not fit.
// It panics after Close.
func (l *Landmark) Snapshot(w io.Writer, secret Secret, label string) error {
	checkOpen("Landmark.Snapshot", l.active().arena)
	fields := []uint64{
		math.Float64bits(l.config.FPR), uint64(l.config.Memory),
		math.Float64bits(l.fullFPR), math.Float64bits(l.rate), math.Float64bits(l.missed),
		l.count, l.settled, uint64(l.position),
	}
	for i := range l.filters {
		fields = append(fields, l.filters[i].set)
	}
	out := newSnapshotWriter(w, snapshotLandmark, secret, label, fields)
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
	in, words, err := newSnapshotReader(r, snapshotLandmark, c, landmarkFieldCount+1, landmarkFieldCount+maxLandmarkFilters)
	if err != nil {
		return nil, err
	}
	f := &snapshotFields{words}
	l, err := landmarkOf(f)
	if err != nil {
		return nil, err
	}
	if err := l.load(in, f.rest, c); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// landmarkOf makes a filter without sub-filters of a snapshot's first fields.
func landmarkOf(f *snapshotFields) (*Landmark, error) {
	l := &Landmark{newArena: layout.NewArena}
	l.config = LandmarkConfig{FPR: math.Float64frombits(f.next()), Memory: int(int64(f.next()))}
	l.fullFPR, l.rate = math.Float64frombits(f.next()), math.Float64frombits(f.next())
	l.missed = math.Float64frombits(f.next())
	l.count, l.settled = f.next(), f.next()
	position := f.next()
	l.position = int(min(position, counterStep))
	for _, v := range []struct {
		name       string
		value      float64
		least, top float64
	}{
		{"false positive rate", l.config.FPR, minFPR, maxFPR},
		{"rate of full parts", l.fullFPR, 0, 1}, {"rate", l.rate, 0, 1},
		{"expected number of misses", l.missed, 0, math.MaxInt64},
		{"position", float64(position), 0, counterStep},
		{"settled elements", float64(l.settled), 0, float64(l.count)},
	} {
		if !(v.value >= v.least && v.value <= v.top) {
			return nil, fmt.Errorf("%w: %s is %g, must be from %g to %g", ErrSnapshot, v.name, v.value, v.least, v.top)
		}
	}
	return l, nil
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
