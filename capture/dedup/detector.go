// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"errors"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Detector judges the packets of one stream, in their order, and counts what it decides. It
// is not safe for concurrent use, but its BatchDetectors may run concurrently.
type Detector struct {
	cfg       Config // with all defaults
	landmarks *window.Landmarks
	within    traits.SightingConfig // of Config.Within
	single    *BatchDetector        // of Copies
	hold      *hold.Hold            // nil if no packet waits for better copies
	hub       *hub                  // nil without
	pairs     *pairs                // nil if it finds none
	counts    Counts
	tunnels   headers.TunnelSample

	captured identity.Captured
}

// New makes a Detector, which then owns the filter. After an error it has closed it. Errors wrap
// ErrConfig, or come from window.NewTimed, window.NewLandmarks, stream.NewVerified, layout.NewArena
// or engine.RandomSecret.
func New(cfg Config) (*Detector, error) {
	d := &Detector{cfg: cfg, counts: Counts{Tally: NewTally()}}
	if err := d.begin(); err != nil {
		if d.cfg.Filter != nil {
			err = errors.Join(err, d.cfg.Filter.Close())
		}
		return nil, err
	}
	return d, nil
}

// begin puts the parts of a Detector together.
func (d *Detector) begin() (err error) {
	c := &d.cfg
	if err := c.check(); err != nil {
		return err
	}
	if c.Secret == (engine.Secret{}) {
		if c.Secret, err = engine.RandomSecret(); err != nil {
			return err
		}
	}
	if c.Digester == nil {
		c.Digester = func() digest.MessageDigester { return digest.NewAES(c.Secret.AESKey(engine.UsePackets)) }
	}
	if c.Points == nil {
		c.Points = traits.NewCapturePoints(nil)
	}
	if err := d.setFilter(); err != nil {
		return err
	}
	d.within = Sightings(c.Identity, c.Secret, c.Within.Fields)
	d.within.Groups = c.Within.Groups
	waits := c.setHold()
	switch {
	case c.Hub != nil:
		d.hub = newHub(c.Hub, d.elsewhere, c.Mark)
	case waits:
		if err := d.makeHold(); err != nil {
			return err
		}
	}
	d.pairs = newPairs(c)
	d.tunnels.Ports = c.Identity.Tunnels
	d.single = d.newBatchDetector()
	return nil
}

// setFilter completes the window and the filter.
func (d *Detector) setFilter() (err error) {
	c := &d.cfg
	if c.Window == (window.Window{}) {
		c.Window.Duration = window.Default
	}
	if c.Window.Landmark {
		if d.landmarks, err = window.NewLandmarks(c.Window, c.Zone); err != nil {
			return err
		}
		if err := d.landmarks.Resume(c.Position); err != nil {
			return err
		}
		c.Window = d.landmarks.Span()
	}
	if c.Filter == nil {
		timed, err := window.NewTimed(window.TimedConfig{Window: c.Window, Refresh: c.Refresh, Across: c.Across})
		if err != nil {
			return err
		}
		c.Filter = timed
	}
	if c.VerifyCopies == 0 {
		return nil
	}
	verified, err := stream.NewVerified(c.Filter, c.VerifyCopies)
	if err != nil {
		c.Filter = nil // NewVerified has closed it
		return err
	}
	c.Filter = verified
	return nil
}

// makeHold makes packets wait.
func (d *Detector) makeHold() (err error) {
	c := &d.cfg
	s := hold.Stream{Sightings: Sightings(c.Identity, c.Secret, 0), Exchanged: d.exchanged}
	s.Sightings.Apart = c.Within
	if !c.Refresh {
		s.Window = c.Window.Duration
	}
	if c.Mark != nil {
		s.Mark = c.Mark.Mark
	}
	d.hold, err = hold.New(c.Hold, s)
	return err
}

// Copies judges the packets of the next batch, and returns a bitmap of the copies, as
// capture.Writer takes it: bit i%64 of word i/64 is packet i. The bitmap is valid until the
// next call. How the stream is cut into batches does not matter.
func (d *Detector) Copies(b *capture.Batch) (drop []uint64) {
	d.single.Prepare(b)
	return d.single.Judge(b)
}

// Filter returns the filter.
func (d *Detector) Filter() engine.PacketFilter { return d.cfg.Filter }

// Position returns how many packets the filter has judged in landmark windows of packets, for
// window.Landmarks.Resume. It is 0 for all other windows.
func (d *Detector) Position() uint64 {
	if d.landmarks == nil {
		return 0
	}
	return d.landmarks.Position()
}

// Points returns the numbers of the capture points.
func (d *Detector) Points() *traits.CapturePoints { return d.cfg.Points }

// NewDecoder returns a decoder of the headers that identities begin with.
func (d *Detector) NewDecoder() *headers.Decoder {
	return headers.NewDecoder(d.cfg.Identity.Decode())
}

// Populate makes the system allocate the filter's memory now, if that memory has a bound.
// Otherwise the first packets would wait for it. It returns ctx's error if ctx ends first.
func (d *Detector) Populate(ctx context.Context) error {
	if f, ok := d.cfg.Filter.(interface{ Populate(context.Context) error }); ok {
		return f.Populate(ctx)
	}
	return nil
}

// Waits reports whether packets wait for better copies or a hub, as of the last Write. Any goroutine
// may call it.
func (d *Detector) Waits() bool {
	return d.hold != nil && d.hold.Waits() || d.hub != nil && d.hub.asked.Load() > 0
}

// Close releases the filter's memory. Stats still works.
func (d *Detector) Close() error {
	if d.hold == nil {
		return d.cfg.Filter.Close()
	}
	return errors.Join(d.cfg.Filter.Close(), d.hold.Close())
}
