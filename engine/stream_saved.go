package engine

import (
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/layout"
)

// streamState is what is saved of a filter beside its lines.
type streamState struct {
	streamParams
	elements, seen uint64
	streamCounts
}

func (s *streamState) fields() snapshotFields {
	return snapshotFields{
		&s.method, &s.shape, &s.k, &s.p, &s.max, &s.lines, &s.elements, &s.seen, &s.occupied, &s.evicted,
	}
}

// Snapshot writes all that the filter remembers. A filter that RestoreStream makes of it
// goes on with the same verdicts. The secret is what the digests were made under; the
// snapshot is sealed with it. The label says what the elements are, as their key and
// digest ("flow, aes"), in MaxLabel bytes at most; a filter can only
// be restored with the same label. Errors are those of w, or wrap ErrSnapshot for a label
// that does not fit. It panics after Close.
func (s *Stream) Snapshot(w io.Writer, secret Secret, label string) error {
	checkOpen("Stream.Snapshot", s.arena)
	state := streamState{s.params, s.elements, s.seen, s.kernel.counts()}
	out := newSnapshotWriter(w, snapshotStream, secret, label, state.fields())
	s.copying = out.shared(s.arena, 0, s.params.lines)
	return out.end()
}

// RestoreStream makes the filter that Snapshot wrote. It reads nothing behind the
// snapshot. Errors wrap ErrSnapshot if it is damaged, cut short, of another version,
// kind or label or made under another key, ErrMemory if it takes more memory than c
// allows, or are those of r and of layout.NewArena.
func RestoreStream(r io.Reader, c RestoreConfig) (*Stream, error) {
	var saved streamState
	in, err := newSnapshotReader(r, snapshotStream, c, saved.fields())
	if err != nil {
		return nil, err
	}
	if err := saved.check(c); err != nil {
		return nil, err
	}
	s, err := newStream(saved.streamParams)
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
	s.elements, s.seen = saved.elements, saved.seen
	s.kernel.include(saved.streamCounts)
	return s, nil
}

// check returns an error unless there is a filter with such fields, which c allows.
func (s *streamState) check(c RestoreConfig) error {
	// What newStreamParams never chooses does not fit one of these.
	const most = layout.MaxCellK * 64
	for _, v := range []struct {
		name        string
		value, most uint64
	}{
		{"method", uint64(s.method), uint64(len(streamMethods) - 1)}, {"shape", uint64(s.shape), uint64(layout.Lines8x64)},
		{"K", uint64(s.k), most}, {"P", uint64(s.p), most}, {"Max", uint64(s.max), most},
		{"number of lines", uint64(s.lines), maxCellLines},
		{"number of seen elements", s.seen, s.elements}, {"number of evictions", s.evicted, s.elements},
	} {
		if v.value > v.most {
			return fmt.Errorf("%w: %s is %d, must be at most %d", ErrSnapshot, v.name, v.value, v.most)
		}
	}
	if err := c.allow(uint64(s.lines)); err != nil {
		return err
	}
	p, err := newStreamParams(s.config())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	cells := uint64(p.lines) * uint64(p.lineCells())
	if p != s.streamParams || s.occupied > cells || s.evicted > 0 && p.family() != familyRows {
		return errInconsistent
	}
	return nil
}

// config returns the configuration of which newStreamParams makes the parameters again, if it
// can: so they are checked as those of NewStream are.
func (s *streamState) config() StreamConfig {
	c := StreamConfig{Method: streamMethods[s.method].name, Memory: s.lines * layout.LineSize}
	switch {
	case streamMethods[s.method].rows:
		for _, shape := range streamShapes {
			if shape.RowShape == s.shape {
				c.Shape = shape.Name
			}
		}
	case c.Method == "sbf":
		c.K, c.P, c.Max = s.k, s.p, s.max
	default:
		c.K = s.k
	}
	return c
}
