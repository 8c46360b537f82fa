// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"errors"
	"io"
	"math"
	"strings"

	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/method"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// errNoSnapshot is returned for a filter that cannot be saved.
var errNoSnapshot = errors.New("this method cannot be saved")

// SavedStats are the counts of a run, for the run that resumes it.
type SavedStats struct {
	dedup.Counts
	Unopened []headers.UnopenedCount `json:",omitempty"` // in place of the field of Counts
	// Points are the capture points of packets, by the numbers that the filter stores.
	Points []traits.CapturePoint
	// Position is dedup.Detector.Position.
	Position uint64 `json:",omitempty"`
	// Unverified is dedup.Stats.Unverified.
	Unverified    uint64 `json:",omitempty"`
	Conversations traits.SplitCounts
}

// label identifies the elements of the filter in its snapshot.
func (c *Config) label() string {
	label := "packets, " + c.Digest
	if len(c.Within) > 0 {
		label += ", within " + strings.Join(c.Within, ",")
	}
	if ports := c.Identity.Tunnels.String(); ports != "" {
		label += ", tunnels " + ports
	}
	return label
}

// Save writes the filter of d for Resume, and returns the counts. It must not be called while
// a batch is judged. Errors come from w, or are errNoSnapshot.
func Save(cfg *Config, d *dedup.Detector, w io.Writer) (SavedStats, error) {
	f, ok := d.Filter().(interface {
		Snapshot(w io.Writer, secret engine.Secret, label string) error
	})
	if !ok {
		return SavedStats{}, errNoSnapshot
	}
	stats := d.Stats()
	return SavedStats{
		Counts: stats.Counts, Unopened: stats.Unopened.List(),
		Points: d.Points().List(), Position: d.Position(), Unverified: stats.Unverified, Conversations: stats.Conversations,
	}, f.Snapshot(w, cfg.Secret, cfg.label())
}

// Resume continues where Save left off. It reads exactly what Save wrote. Errors come from r
// and the engine.
func Resume(cfg *Config, r io.Reader, saved *SavedStats) (*dedup.Detector, error) {
	filter, err := cfg.restore(r, saved)
	if err != nil {
		return nil, err
	}
	d, err := newDetector(cfg, dedup.Config{Filter: filter}, saved)
	if err != nil {
		return nil, err
	}
	counts := saved.Counts
	counts.Unopened = headers.UnopenedCounts{}
	for _, one := range saved.Unopened {
		counts.Unopened.Count(one.What, one.Frames)
	}
	d.Continue(counts)
	return d, nil
}

// restore reads the filter that cfg asks for, with the table that verifies its copies.
func (c *Config) restore(r io.Reader, saved *SavedStats) (engine.PacketFilter, error) {
	if err := c.checkMemory(); err != nil {
		return nil, err
	}
	restore := snapshot.RestoreConfig{Secret: c.Secret, Label: c.label(), Memory: math.MaxInt}
	f, err := c.restoreUnverified(r, restore)
	if err != nil || c.Verify == 0 {
		return f, err
	}
	return packetFilter(stream.RestoreVerified(f, saved.Unverified, r, restore))
}

func (c *Config) restoreUnverified(r io.Reader, restore snapshot.RestoreConfig) (engine.PacketFilter, error) {
	switch {
	case c.cells() == method.Coarse:
		return packetFilter(window.RestoreCoarse(r, restore))
	case c.cells() == method.Fine:
		return packetFilter(window.RestoreFine(r, restore))
	case c.Method == method.Timers:
		return packetFilter(window.RestoreTimers(r, restore))
	case stream.IsMethod(c.Method):
		return packetFilter(stream.RestorePackets(r, restore))
	}
	return packetFilter(window.RestoreTimed(r, restore))
}

// packetFilter prevents a nil pointer from becoming a non-nil interface.
func packetFilter[F engine.PacketFilter](f F, err error) (engine.PacketFilter, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}
