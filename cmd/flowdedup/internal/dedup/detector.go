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
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// New makes the detector that cfg asks for. inputBytes helps to choose the size of its filter;
// 0 is unknown. New ignores the inputs and outputs of cfg, which must not change afterwards.
// It takes conditions that Compile has made. Errors come from the engine.
func New(cfg *Config, inputBytes int64, observers ...dedup.Observer) (*dedup.Detector, error) {
	filter, err := cfg.filter(inputBytes)
	if err != nil {
		return nil, err
	}
	return newDetector(cfg, dedup.Parts{Filter: filter, VerifyCopies: cfg.Verify, Observers: observers}, &SavedStats{})
}

// newDetector makes a detector around the filter of parts, which may remember packets of the
// points of an earlier run.
func newDetector(cfg *Config, parts dedup.Parts, saved *SavedStats) (*dedup.Detector, error) {
	filter := parts.Filter
	if f, ok := filter.(interface{ GrowWhenReady() }); ok && cfg.Live {
		f.GrowWhenReady()
	}
	if cfg.conditions == nil {
		cfg.conditions = newConditions(cfg, nil)
	}
	landmarks := cfg.landmarks()
	if landmarks != nil {
		if err := landmarks.Resume(saved.Position); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %w", snapshot.ErrInvalid, err), filter.Close())
		}
	}
	parts.Identity, parts.Digester, parts.Across = cfg.Identity, cfg.digester, cfg.Across
	parts.Landmarks, parts.Points = landmarks, traits.NewCapturePoints(saved.Points)
	points := cli.PointsOf(cfg.Within)
	parts.Within = dedup.Within(points.Fields, cfg.Identity, cfg.Secret)
	parts.Within.Groups = points.Groups
	parts.Only, parts.Protect, parts.Prefer = cfg.only(), chooser(cfg.conditions.protect), choosers(cfg.conditions.prefer)
	parts.Hold, parts.Hub = cfg.hold(), cfg.Hub
	parts.Intact = !cfg.Pass && !cfg.Choice.First && cfg.Identity.Uneven()
	if !cfg.Pass {
		parts.Reader = cfg.Choice.Reader
	}
	parts.Pairs = dedup.PairsWithin(cfg.span(), cmp.Or(cfg.Choice.Hold, cfg.Choice.Counts), parts.Intact || parts.Reader != nil)
	if cfg.Choice.Mark || cfg.list != nil {
		decoder := headers.NewDecoder(cfg.Identity.Decode())
		parts.Mark = traits.NewMarker(traits.MarkerConfig{Decoder: decoder, Inputs: cfg.opened, Window: cfg.span().Duration, Removed: cfg.list})
	}
	if !cfg.Pass {
		parts.Conversations = newConversations(cfg, saved)
	}
	return dedup.NewWith(parts)
}

// only returns the chooser of the packets that are judged, nil for all.
func (c *Config) only() dedup.Chooser {
	if c.Pass {
		return func(chosen []uint64, _ *capture.Batch, from, to int) { clear(chosen[:(to-from+63)/64]) }
	}
	return chooser(c.conditions.only)
}

// mostHeld bounds the packets that wait for better copies, in bytes.
const mostHeld = 256 << 20

// hold says how packets wait for better copies, nil if none waits.
func (c *Config) hold() *dedup.HoldConfig {
	if c.Choice.Hold == 0 {
		return nil
	}
	hold := &dedup.HoldConfig{Keep: dedup.KeepFirst, Intact: c.Choice.Intact, Hold: c.Choice.Hold, Secret: c.Secret}
	hold.Memory = min(mostHeld, layout.MemoryBudget())
	if c.Choice.Flow {
		hold.Keep = dedup.KeepFlow
	}
	if !c.Refresh {
		hold.Window = c.span().Duration
	}
	if c.Live {
		begin := time.Now()
		hold.Clock = func() time.Duration { return time.Since(begin) }
		hold.Wait = c.Choice.Hold + c.Choice.Delay
	}
	return hold
}
