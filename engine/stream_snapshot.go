package engine

import (
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/layout"
)

// streamFields are the fields of a snapshot, in this order. They are all that is kept
// of a filter but its lines.
type streamFields struct {
	method, shape, k, p, max, lines   uint64
	elements, seen, occupied, evicted uint64
}

const streamFieldCount = 10

func (f *streamFields) all() [streamFieldCount]*uint64 {
	return [...]*uint64{&f.method, &f.shape, &f.k, &f.p, &f.max, &f.lines, &f.elements, &f.seen, &f.occupied, &f.evicted}
}

// Snapshot writes all that the filter remembers. A filter that RestoreStream makes of it
// goes on with the same verdicts. The secret is what the digests were made under; the
// snapshot is sealed with it. The label says what the elements are, as their key and
// digest ("flow, aes"), in MaxLabel bytes at most; only who gives the same can restore
// the filter. Errors are those of w, or wrap ErrSnapshot for a label that does not fit.
// It panics after Close.
func (s *Stream) Snapshot(w io.Writer, secret Secret, label string) error {
	checkOpen("Stream.Snapshot", s.arena)
	c := s.kernel.counts()
	f := streamFields{
		method: uint64(s.params.method), shape: uint64(s.params.shape),
		k: uint64(s.params.k), p: uint64(s.params.p), max: uint64(s.params.max),
		lines: uint64(s.params.lines), elements: s.elements, seen: s.seen,
		occupied: c.occupied, evicted: c.evicted,
	}
	var fields [streamFieldCount]uint64
	for i, field := range f.all() {
		fields[i] = *field
	}
	out := newSnapshotWriter(w, snapshotStream, secret, label, fields[:])
	s.copying = out.shared(s.arena, 0, s.params.lines)
	return out.end()
}

// RestoreStream makes the filter that Snapshot wrote. It reads nothing behind the
// snapshot. Errors wrap ErrSnapshot if it is damaged, cut short, of another version,
// kind or label or made under another key, ErrMemory if it takes more memory than c
// allows, or are those of r and of layout.NewArena.
func RestoreStream(r io.Reader, c RestoreConfig) (*Stream, error) {
	in, fields, err := newSnapshotReader(r, snapshotStream, c, streamFieldCount, streamFieldCount)
	if err != nil {
		return nil, err
	}
	var f streamFields
	for i, field := range f.all() {
		*field = fields[i]
	}
	p, err := f.params(c)
	if err != nil {
		return nil, err
	}
	s, err := newStream(p)
	if err != nil {
		return nil, err
	}
	err = in.lines(s.arena.Lines())
	if err == nil {
		err = in.checkSeal("lines")
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.elements, s.seen = f.elements, f.seen
	s.kernel.add(streamCounts{occupied: f.occupied, evicted: f.evicted})
	return s, nil
}

// params returns the parameters, or an error if no filter has such fields.
func (f *streamFields) params(c RestoreConfig) (streamParams, error) {
	// What newStreamParams never chooses does not fit one of these.
	const most = asm.MaxCellK * 64
	for _, v := range []struct {
		name        string
		value, most uint64
	}{
		{"method", f.method, uint64(len(streamMethods) - 1)}, {"shape", f.shape, uint64(asm.Lines8x64)},
		{"K", f.k, most}, {"P", f.p, most}, {"Max", f.max, most}, {"number of lines", f.lines, maxStreamLines},
		{"number of seen elements", f.seen, f.elements}, {"number of evictions", f.evicted, f.elements},
	} {
		if v.value > v.most {
			return streamParams{}, fmt.Errorf("%w: %s is %d, must be at most %d", ErrSnapshot, v.name, v.value, v.most)
		}
	}
	if err := c.allow(f.lines); err != nil {
		return streamParams{}, err
	}
	return f.rebuild()
}

// rebuild chooses the parameters again, as given ones, so that they are checked as
// those of NewStream are.
func (f *streamFields) rebuild() (streamParams, error) {
	c := StreamConfig{Method: streamMethods[f.method].name, Memory: int(f.lines) * layout.LineSize}
	switch {
	case streamMethods[f.method].rows:
		for _, s := range streamShapes {
			if uint64(s.RowShape) == f.shape {
				c.Shape = s.Name
			}
		}
	case c.Method == "sbf":
		c.K, c.P, c.Max = int(f.k), int(f.p), int(f.max)
	default:
		c.K = int(f.k)
	}
	p, err := newStreamParams(c)
	if err != nil {
		return p, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	cells := uint64(p.lines) * uint64(p.lineCells())
	same := streamParams{int(f.method), asm.RowShape(f.shape), int(f.k), int(f.p), int(f.max), int(f.lines)} == p
	if !same || f.occupied > cells || f.evicted > 0 && p.family() != familyRows {
		return p, fmt.Errorf("%w: parameters that do not belong together", ErrSnapshot)
	}
	return p, nil
}
