// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// savedState is the saved state of a filter except its lines.
type savedState struct {
	parameters
	elements, seen uint64
	kernelCounts
}

func (s *savedState) fields() snapshot.Fields {
	return snapshot.Fields{
		&s.method, &s.shape, &s.k, &s.p, &s.max, &s.lines, &s.elements, &s.seen, &s.occupied, &s.evicted,
	}
}

// Snapshot writes the filter's contents. The filter that Restore returns continues with
// the same verdicts. secret is the secret of the digests; it seals the snapshot. label
// names the elements, such as "flow, aes", in at most snapshot.MaxLabel bytes. A filter
// can only be restored with the same label. Errors come from w, or wrap
// snapshot.ErrInvalid for a bad label. It panics after Close.
func (s *Filter) Snapshot(w io.Writer, secret engine.Secret, label string) error {
	s.arena.CheckOpen("stream: Filter.Snapshot")
	state := savedState{s.params, s.elements, s.seen, s.kernel.counts()}
	out := snapshot.NewWriter(w, snapshot.Stream, secret, label, state.fields())
	s.copying = out.Lines(s.arena, 0, s.params.lines)
	return out.End()
}

// Restore reads the filter that Filter.Snapshot wrote, and nothing behind it. Errors wrap
// snapshot.ErrInvalid if the snapshot is damaged, cut short, of another version, kind or
// label, or made under another key. They wrap engine.ErrMemory if it takes more memory
// than c allows. Other errors come from r and layout.NewArena.
func Restore(r io.Reader, c snapshot.RestoreConfig) (*Filter, error) {
	var saved savedState
	return snapshot.Restore(r, snapshot.Stream, c, saved.fields(), saved.filter, (*Filter).load)
}

func (s *Filter) load(in *snapshot.Reader) error { return in.Lines(s.arena.Lines()) }

// filter makes the filter that was saved, with empty lines.
func (s *savedState) filter(c snapshot.RestoreConfig) (*Filter, error) {
	if err := s.check(c); err != nil {
		return nil, err
	}
	f, err := newFilter(s.parameters)
	if err != nil {
		return nil, err
	}
	f.elements, f.seen = s.elements, s.seen
	f.kernel.restore(s.kernelCounts)
	return f, nil
}

// check returns an error unless New could have made a filter with such fields, and c
// allows it.
func (s *savedState) check(c snapshot.RestoreConfig) error {
	// The largest value that chooseParameters chooses for K or Max.
	const most = layout.MaxCellK * 64
	for _, v := range []struct {
		name        string
		value, most uint64
	}{
		{"method", uint64(s.method), uint64(len(methodTable) - 1)}, {"shape", uint64(s.shape), uint64(layout.Lines8x64)},
		{"K", uint64(s.k), most}, {"P", uint64(s.p), replaceUnit}, {"Max", uint64(s.max), most},
		{"number of lines", uint64(s.lines), mem.MaxCellLines},
		{"number of seen elements", s.seen, s.elements}, {"number of evictions", s.evicted, s.elements},
	} {
		if v.value > v.most {
			return fmt.Errorf("%w: %s is %d, must be at most %d", snapshot.ErrInvalid, v.name, v.value, v.most)
		}
	}
	if err := c.Allow(uint64(s.lines)); err != nil {
		return err
	}
	p, err := chooseParameters(s.config())
	if err != nil {
		return fmt.Errorf("%w: %w", snapshot.ErrInvalid, err)
	}
	cells := uint64(p.lines) * uint64(p.lineCells())
	if p != s.parameters || s.occupied > cells || s.evicted > 0 && p.family() != familyRows {
		return snapshot.ErrInconsistent
	}
	return nil
}

// config returns the configuration from which chooseParameters makes the parameters
// again. So they are checked as New's are.
func (s *savedState) config() Config {
	c := Config{Method: methodTable[s.method].name, Memory: s.lines * layout.LineSize}
	switch {
	case methodTable[s.method].rows:
		for _, shape := range shapeTable {
			if shape.RowShape == s.shape {
				c.Shape = shape.Name
			}
		}
	case c.Method == "sbf":
		c.K, c.P, c.Max = s.k, s.p, s.max
	default:
		c.K, c.Threshold = s.k, float64(s.p)/replaceUnit
	}
	return c
}
