package distinct

import (
	"fmt"
	"io"
	"math"

	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// maxBloomFilters is the most sub-filters that a snapshot may have: each has twice the lines
// of the one before.
const maxBloomFilters = 48

// fields lists what is saved of the filter and, behind that, the set bits of each sub-filter.
func (l *ScalableBloom) fields(set *[]uint64) snapshot.Fields {
	return snapshot.Fields{
		&l.config.FPR, &l.config.Memory, &l.fullFPR, &l.rate, &l.missed, &l.count, &l.accounted, &l.position,
		snapshot.Rest{Words: set, Least: 1, Most: maxBloomFilters},
	}
}

// Snapshot writes all that the filter remembers. A filter that RestoreScalableBloom makes
// of it goes on with the same verdicts. The secret is what the digests were made under;
// the snapshot is sealed with it. The label says what the elements are, as their key and
// digest ("flow, aes"), in MaxLabel bytes at most; a filter can only
// be restored with the same label. Errors are those of w, or wrap ErrInvalid for a label
// that does not fit. It panics after Close.
func (l *ScalableBloom) Snapshot(w io.Writer, secret secret.Secret, label string) error {
	mem.CheckOpen("Landmark.Snapshot", l.active().arena)
	set := make([]uint64, len(l.filters))
	for i := range l.filters {
		set[i] = l.filters[i].set
	}
	out := snapshot.NewWriter(w, snapshot.ScalableBloom, secret, label, l.fields(&set))
	for i := range l.filters {
		out.Lines(l.filters[i].arena.Lines())
	}
	return out.End()
}

// RestoreScalableBloom makes the filter that ScalableBloom.Snapshot wrote. It reads nothing
// behind the snapshot. Errors wrap ErrInvalid if it is damaged, cut short, of another
// version, kind or label or made under another key, ErrMemory if it takes more memory than c
// allows, or are those of r and of layout.NewArena. c bounds what the filter takes now,
// not what it grows to.
func RestoreScalableBloom(r io.Reader, c snapshot.RestoreConfig) (*ScalableBloom, error) {
	var set []uint64
	l := &ScalableBloom{newArena: layout.NewArena}
	in, err := snapshot.NewReader(r, snapshot.ScalableBloom, c, l.fields(&set))
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
func (l *ScalableBloom) check() error {
	for _, v := range []struct {
		name       string
		value      float64
		least, top float64
	}{
		{"false positive rate", l.config.FPR, minFPR, maxFPR},
		{"rate of full parts", l.fullFPR, 0, 1}, {"rate", l.rate, 0, 1},
		{"expected number of misses", l.missed, 0, math.MaxInt64},
		{"position", float64(l.position), 0, rowtable.Step},
		{"settled elements", float64(l.accounted), 0, float64(l.count)},
	} {
		if !(v.value >= v.least && v.value <= v.top) {
			return fmt.Errorf("%w: %s is %g, must be from %g to %g", snapshot.ErrInvalid, v.name, v.value, v.least, v.top)
		}
	}
	return nil
}

// load makes the sub-filters, with so many bits set, and reads their lines.
func (l *ScalableBloom) load(in *snapshot.Reader, set []uint64, c snapshot.RestoreConfig) error {
	total := uint64(0)
	l.newArena = func(lines int) (*layout.Arena, error) {
		total += uint64(lines)
		if err := c.Allow(total); err != nil {
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
			return fmt.Errorf("%w: %d bits set in %d lines", snapshot.ErrInvalid, bits, len(f.arena.Lines()))
		}
		if err := in.Lines(f.arena.Lines()); err != nil {
			return err
		}
	}
	return in.CheckSeal("lines")
}
