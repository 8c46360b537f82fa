package match

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flowdedup/flowdedup/engine/affinity"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// ErrState is wrapped by errors about the content of a state.
var ErrState = errors.New("cannot be resumed")

// saved is what a judge saves besides what it remembers of flows.
type saved struct {
	// Label says which flows and points it knows.
	Label   string
	Points  []PointName
	Longest time.Duration
	// Flows says that a snapshot of flows follows.
	Flows bool
}

// label says what the hashes of flows and the numbers of points are of.
func (c *Config) label() string { return c.Key.String() + " " + c.Points.String() }

// Save returns what is to be saved as JSON, and writes what is remembered of flows to w.
// Records that match one to one, and boundaries, have nothing there. Errors are those of
// w.
func (j *Judge) Save(w io.Writer) (json.RawMessage, error) {
	s := saved{Label: j.cfg.label(), Longest: j.longest}
	for i := range j.points.all {
		s.Points = append(s.Points, j.points.all[i].PointName)
	}
	if o, ok := j.policy.(*owner); ok {
		s.Flows = true
		if err := o.table.Snapshot(w, j.cfg.Secret, s.Label); err != nil {
			return nil, err
		}
	}
	return json.Marshal(&s)
}

// Restore makes a new judge know what another one saved. Errors wrap ErrState,
// snapshot.ErrInvalid or engine.ErrMemory, or are those of r.
func (j *Judge) Restore(from json.RawMessage, r io.Reader) error {
	var s saved
	if err := json.Unmarshal(from, &s); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	o, owns := j.policy.(*owner)
	switch {
	case s.Label != j.cfg.label() || s.Flows != owns:
		return fmt.Errorf("%w: it was saved with another --key, --point or --policy", ErrState)
	case len(s.Points) > affinity.MaxPoint || s.Longest < 0 || s.Longest > maxLongest:
		return fmt.Errorf("%w: it is damaged", ErrState)
	}
	if owns {
		table, err := affinity.RestoreOwners(r, snapshot.RestoreConfig{Secret: j.cfg.Secret, Label: s.Label, Memory: j.cfg.Memory})
		if err != nil {
			return err
		}
		_ = o.table.Close() // it is empty
		o.table = table
	}
	for _, name := range s.Points {
		if !j.points.add(name) {
			return fmt.Errorf("%w: it is damaged", ErrState)
		}
	}
	j.longest = s.Longest
	return nil
}
