// SPDX-License-Identifier: Apache-2.0

package match

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// ErrState is wrapped by errors about the content of a state.
var ErrState = errors.New("cannot be resumed")

// saved is the state of a judge without its memory of flows.
type saved struct {
	// Label says which flows and points it knows.
	Label   string
	Points  []PointName
	Longest time.Duration
	// Flows says that a snapshot of flows follows, Pairs that a snapshot of records follows.
	Flows, Pairs bool
}

// label identifies the meaning of the hashes of flows and the numbers of points.
func (c *Config) label() string { return c.Key.String() + " " + c.Points.String() }

// Save returns the state to be saved as JSON. It writes remembered flows, or records that match
// one to one, to w. Boundaries write nothing. Errors come from w.
func (j *Judge) Save(w io.Writer) (json.RawMessage, error) {
	s := saved{Label: j.cfg.label(), Longest: j.longest.value()}
	for i := range j.points.all {
		s.Points = append(s.Points, j.points.all[i].PointName)
	}
	var err error
	switch p := j.policy.(type) {
	case *owner:
		s.Flows = true
		err = p.owners.snapshot(w, j.cfg.Secret, s.Label)
	case *pairs:
		s.Pairs = true
		err = p.snapshot(w, j.cfg.Secret, s.Label)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(&s)
}

// Restore gives a new judge a saved state. Remembered flows keep their size,
// which may differ from Config.Memory: most bytes at most. Errors wrap ErrState,
// snapshot.ErrInvalid or engine.ErrMemory, or come from r.
func (j *Judge) Restore(from json.RawMessage, r io.Reader, most int) error {
	var s saved
	if err := json.Unmarshal(from, &s); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	o, owns := j.policy.(*owner)
	p, matches := j.policy.(*pairs)
	biflow := j.cfg
	biflow.Key.Biflow = true
	if s.Label == biflow.label() && j.cfg.MayBiflow {
		j.cfg.Key.Biflow = true
	}
	switch {
	case s.Label != j.cfg.label() || s.Flows != owns || s.Pairs != matches:
		return fmt.Errorf("%w: it was saved with another --flow-key, --point or --policy", ErrState)
	case len(s.Points) > maxPoint || s.Longest < 0 || s.Longest > maxLongest:
		return fmt.Errorf("%w: it is damaged", ErrState)
	}
	c := snapshot.RestoreConfig{Secret: j.cfg.Secret, Label: s.Label, Memory: most}
	switch {
	case owns:
		table, err := restoreOwners(r, c)
		if err != nil {
			return err
		}
		_ = o.Close() // it is empty
		o.owners = table
	case matches:
		if err := p.restore(r, c, len(s.Points)); err != nil {
			return err
		}
	}
	j.points.most = max(j.points.most, len(s.Points)) // flows refer to them
	for _, name := range s.Points {
		if !j.points.add(name) {
			return fmt.Errorf("%w: it is damaged", ErrState)
		}
	}
	j.longest.now = s.Longest
	return nil
}

// snapshot writes all records that are remembered.
func (p *pairs) snapshot(w io.Writer, secret engine.Secret, label string) error {
	lines, first, next := uint64(len(p.older)), p.first, p.next
	out := snapshot.NewWriter(w, snapshot.Pairs, secret, label, snapshot.Fields{&lines, &first, &next})
	out.Lines(p.arena, 0, int(lines))
	return out.End()
}

// restore reads the output of snapshot, and replaces the remembered records.
func (p *pairs) restore(r io.Reader, c snapshot.RestoreConfig, points int) error {
	var lines, first, next uint64
	makeArena := func(c snapshot.RestoreConfig) (*layout.Arena, error) {
		if err := c.Allow(lines); err != nil {
			return nil, err
		}
		if lines < leastPairLines || first < 1 || next < first || next-first > lines {
			return nil, fmt.Errorf("%w: %d lines, records %d to %d", snapshot.ErrInvalid, lines, first, next)
		}
		return layout.NewArena(int(lines))
	}
	load := func(a *layout.Arena, in *snapshot.Reader) error { return in.Lines(a.Lines()) }
	arena, err := snapshot.Restore(r, snapshot.Pairs, c, snapshot.Fields{&lines, &first, &next}, makeArena, load)
	if err != nil {
		return err
	}
	for i := range arena.Lines() {
		if line := &arena.Lines()[i]; line[pairPoint]&(1<<pairStamp-1) > uint64(points) {
			return errors.Join(fmt.Errorf("%w: it is damaged", ErrState), arena.Close())
		}
	}
	_ = p.arena.Close() // it is empty
	p.use(arena)
	for p.first, p.next = first, first; p.next < next; {
		p.push(&arena.Lines()[p.at(p.next)])
	}
	return nil
}
