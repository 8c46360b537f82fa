// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// New makes the detector that cfg asks for. inputBytes helps to choose the size of its filter;
// 0 is unknown. New ignores the inputs and outputs of cfg, which must not change afterwards.
// It takes conditions that Compile has made. Errors come from the engine.
func New(cfg *Config, inputBytes int64, observers ...dedup.Observer) (*dedup.Detector, error) {
	filter, err := cfg.filter(inputBytes)
	if err != nil {
		return nil, err
	}
	return newDetector(cfg, dedup.Config{Filter: filter, VerifyCopies: cfg.Verify, Observers: observers}, &SavedStats{})
}

// newDetector makes a detector around the filter of c, which may remember packets of the points of
// an earlier run.
func newDetector(cfg *Config, c dedup.Config, saved *SavedStats) (*dedup.Detector, error) {
	if f, ok := c.Filter.(interface{ GrowWhenReady() }); ok && cfg.Live {
		f.GrowWhenReady()
	}
	if cfg.conditions == nil {
		cfg.conditions = newConditions(cfg, nil)
	}
	c.Identity, c.Secret, c.Digester = cfg.Identity, cfg.Secret, cfg.digester
	c.Window, c.Refresh, c.Across, c.Zone = cfg.Window, cfg.Refresh, cfg.Across, cfg.Zone
	c.Points, c.Position = traits.NewCapturePoints(saved.Points), saved.Position
	c.Within = cli.PointsOf(cfg.Within)
	c.Only, c.Protect = cfg.only(), chooser(cfg.conditions.protect)
	c.Hold, c.Hub = cfg.hold(), cfg.Hub
	if !cfg.Pass {
		c.Prefer = choosers(cfg.conditions.prefer)
		c.Checksums, c.Reader = !cfg.Choice.First, cfg.Choice.Reader
		c.Conversations = newConversations(cfg, saved)
	}
	if cfg.Choice.Mark || cfg.list != nil {
		decoder := headers.NewDecoder(cfg.Identity.Decode())
		c.Mark = traits.NewMarker(traits.MarkerConfig{Decoder: decoder, Inputs: cfg.opened, Window: cfg.span().Duration, Removed: cfg.list})
	}
	d, err := dedup.New(c)
	if errors.Is(err, engine.ErrWindow) {
		err = fmt.Errorf("%w: %w", snapshot.ErrInvalid, err) // the position, as the window was parsed
	}
	return d, err
}

// only returns the chooser of the packets that are judged, nil for all.
func (c *Config) only() dedup.Chooser {
	if c.Pass {
		return func(chosen []uint64, _ *capture.Batch, from, to int) { clear(chosen[:(to-from+63)/64]) }
	}
	return chooser(c.conditions.only)
}

// hold says which of equal packets stays, and how long packets wait for better copies.
func (c *Config) hold() hold.Config {
	h := hold.Config{Flow: c.Choice.Flow, Intact: c.Choice.Intact, For: cmp.Or(c.Choice.Hold, c.Choice.Counts)}
	if c.Live {
		begin := time.Now()
		h.Clock = func() time.Duration { return time.Since(begin) }
		h.Wait = c.Choice.Hold + c.Choice.Delay
	}
	return h
}
