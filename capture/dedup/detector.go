// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Config says which packets are copies. The zero value has the defaults of the command
// where that counts: a copy is an IP datagram within a millisecond of an equal one that was
// kept, and what routers change does not count.
type Config struct {
	// Identity says what makes two packets the same packet.
	Identity identity.Config
	// Filter sets the window between a copy and its original, and the memory for the
	// packets in the window. A zero Window stands for window.Default.
	Filter window.TimedConfig
	// VerifyCopies is the memory, in bytes, of a table of the latest packets: only packets with
	// an equal one in it are copies. See stream.Verified, and Stats.Unverified. 0 is no table.
	VerifyCopies int
	// Zone is the time zone of a landmark window of days or weeks; nil means UTC.
	Zone *time.Location
	// Secret keys the digests. Without it, an attacker cannot make packets that collide
	// with those of others. The zero value stands for a random one.
	Secret engine.Secret
	// Within says at which points equal packets are copies of each other: where one of
	// these fields differs they are not. 0 is at all points.
	Within traits.PointFields
	// Groups are identifiers of Within's fields that are one, such as the VLANs of one tenant before
	// and behind a firewall.
	Groups traits.Groups
	// Only chooses the packets that are judged, nil for all. Others are kept, and not
	// remembered: no packet is a copy of one of them, and a window of packets does not
	// count them.
	Only Chooser
	// Protect chooses packets that are never removed, nil for none. Their copies
	// and they are judged as without it: a protected copy begins no window.
	Protect Chooser
	// Keep says which of equal packets are written, by Tasks and by BatchDetector.Write; the
	// verdicts of Copies and Judge do not depend on it. The command chooses KeepFlow where it
	// writes packets. With it, packets wait for better copies that come within Hold; 0 stands
	// for the window, at most 10 ms. See the package's page.
	Keep Keep
	Hold time.Duration
	// Intact makes packets wait, too: see HoldConfig. It chooses only where equal packets may be
	// of different quality: see identity.Config.Uneven.
	Intact bool
	// Prefer makes packets wait, too. Of equal packets it keeps one that the first Chooser chooses,
	// else one that the second chooses, and so on: see MaxPreferences. It counts before all else.
	Prefer []Chooser
}

// MaxPreferences is how many choosers Prefer may have.
const MaxPreferences = 255

// ErrConfig is wrapped by the errors about a Config or about Parts that no Detector can have.
var ErrConfig = engine.ErrConfig

// configError makes such an error.
func configError(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrConfig, fmt.Errorf(format, args...))
}

// check returns an error for parts that cannot be.
func (p *Parts) check() error {
	if err := cmp.Or(p.Identity.Validate(), p.Within.Fields.Validate()); err != nil {
		return configError("%w", err)
	}
	switch {
	case p.Digester == nil:
		return configError("no digester")
	case p.VerifyCopies < 0:
		return configError("%d bytes for a table that verifies copies", p.VerifyCopies)
	case len(p.Prefer) > MaxPreferences:
		return configError("%d preferences, more than %d", len(p.Prefer), MaxPreferences)
	case slices.ContainsFunc(p.Prefer, func(c Chooser) bool { return c == nil }):
		return configError("a preference is nil")
	case p.Hold != nil:
		return p.Hold.check()
	}
	return nil
}

// check returns an error for values that cannot be.
func (c *HoldConfig) check() error {
	switch {
	case c.Keep > KeepFlow:
		return configError("unknown Keep %d", c.Keep)
	case c.Hold < 0 || c.Window < 0 || c.Wait < 0:
		return configError("packets wait for %v, by their arrival for %v, in a window of %v", c.Hold, c.Wait, c.Window)
	case c.Memory < 0:
		return configError("%d bytes for packets that wait", c.Memory)
	}
	return nil
}

// maxHold bounds holds by default.
const maxHold = 10 * time.Millisecond

// hold says how packets wait; nil if none does.
func (c *Config) hold() *HoldConfig {
	intact := c.Intact && c.Identity.Uneven()
	if c.Keep != KeepFlow && !intact && len(c.Prefer) == 0 {
		return nil
	}
	w := c.Filter.Window.Duration
	if c.Hold == 0 {
		c.Hold = maxHold
		if w > 0 {
			c.Hold = min(w, maxHold)
		}
	}
	if c.Filter.Refresh {
		w = 0
	}
	return &HoldConfig{Keep: c.Keep, Intact: intact, Hold: c.Hold, Window: w, Secret: c.Secret}
}

// pairs says how far apart fit and unfit packets are copies.
func (c *Config) pairs(hold *HoldConfig) PairConfig {
	often := c.Intact && c.Identity.Uneven()
	if hold == nil {
		return PairsWithin(c.Filter.Window, 0, often)
	}
	return PairsWithin(c.Filter.Window, hold.Hold, often)
}

// Detector judges the packets of one stream, in their order, and counts what it decides. It
// is not safe for concurrent use, but its BatchDetectors may run concurrently.
type Detector struct {
	parts   Parts
	single  *BatchDetector // of Copies
	hold    *hold          // nil if no packet waits for better copies
	hub     *hub           // nil without
	pairs   *pairs         // nil if it finds none
	counts  Counts
	tunnels headers.TunnelSample

	captured identity.Captured
}

// New makes a Detector. Errors come from window.NewTimed, window.NewLandmarks, engine.RandomSecret and
// NewWith.
func New(cfg Config) (*Detector, error) {
	if cfg.Keep > KeepFlow || cfg.Hold < 0 { // where nothing waits, too
		return nil, (&HoldConfig{Keep: cfg.Keep, Hold: cfg.Hold}).check()
	}
	if cfg.Zone != nil && !cfg.Filter.Window.Landmark {
		return nil, configError("a zone without a landmark window")
	}
	var err error
	if cfg.Secret == (engine.Secret{}) {
		if cfg.Secret, err = engine.RandomSecret(); err != nil {
			return nil, err
		}
	}
	if cfg.Filter.Window == (window.Window{}) {
		cfg.Filter.Window.Duration = window.Default
	}
	var landmarks *window.Landmarks
	if cfg.Filter.Window.Landmark {
		if landmarks, err = window.NewLandmarks(cfg.Filter.Window, cfg.Zone); err != nil {
			return nil, err
		}
		cfg.Filter.Window = landmarks.Span()
	}
	filter, err := window.NewTimed(cfg.Filter)
	if err != nil {
		return nil, err
	}
	hold := cfg.hold()
	within := Within(cfg.Within, cfg.Identity, cfg.Secret)
	within.Groups = cfg.Groups
	return NewWith(Parts{
		Identity: cfg.Identity, Filter: filter, VerifyCopies: cfg.VerifyCopies, Landmarks: landmarks, Across: cfg.Filter.Across,
		Within: within, Only: cfg.Only, Protect: cfg.Protect,
		Digester: func() digest.MessageDigester { return digest.NewAES(cfg.Secret.AESKey(engine.UsePackets)) },
		Hold:     hold, Prefer: cfg.Prefer, Intact: cfg.Intact && cfg.Identity.Uneven(), Pairs: cfg.pairs(hold),
	})
}

// Parts are the parts of a Detector, for other filters and digests than those of New.
type Parts struct {
	Identity identity.Config
	Digester func() digest.MessageDigester // makes one for each batch that is under way
	Filter   engine.PacketFilter
	// VerifyCopies is as in Config. A Filter that verifies its copies, as a restored one, needs
	// no table.
	VerifyCopies int
	// Landmarks parts the digests in packets by landmark windows, and Filter has the window
	// in their Span; nil for other windows.
	Landmarks *window.Landmarks
	Across    bool                  // the filter compares capture points
	Points    *traits.CapturePoints // in packets before; nil for none
	Within    traits.SightingConfig // the result in Within; without fields for all points
	// Only, Protect and Prefer are as in Config.
	Only, Protect Chooser
	Prefer        []Chooser
	// Reader says which headers the reader of the output surely opens, nil for all. Intact says that
	// wrong checksums of TCP, UDP and ICMP count, except with Across, where all packets of one point
	// stay. Packets in other headers and of wrong checksums are unfit, as packets are that no
	// receiver takes (identity.Messages.Broken): no fit packet is a copy of them. Pairs says when
	// unfit packets are copies of fit ones, or give place to them; it has no meaning with Across.
	Reader *headers.Plain
	Intact bool
	Pairs  PairConfig
	// Hold makes packets wait for better copies; nil for none. Prefer has no meaning without
	// it.
	Hold *HoldConfig
	// Hub asks a hub about the packets that the filter leaves; nil for none. Hold then has no
	// meaning.
	Hub *hubclient.Client
	// Mark adds comments to copies, and all packets are written. With nil, copies are removed.
	Mark *traits.Marker
	// Conversations counts the conversations of written packets; nil for none.
	Conversations *traits.SplitCounter
	// Observers get the decisions of the Detector.
	Observers []Observer
}

// NewWith makes a Detector of parts, which it then owns. Errors wrap ErrConfig, or come from
// layout.NewArena or stream.NewVerified; then it has closed the filter.
func NewWith(p Parts) (*Detector, error) {
	if p.Filter == nil {
		return nil, configError("no filter")
	}
	if err := p.check(); err != nil {
		return nil, errors.Join(err, p.Filter.Close())
	}
	if p.VerifyCopies > 0 {
		verified, err := stream.NewVerified(p.Filter, p.VerifyCopies)
		if err != nil {
			return nil, err
		}
		p.Filter = verified
	}
	if p.Points == nil {
		p.Points = traits.NewCapturePoints(nil)
	}
	d := &Detector{parts: p, counts: Counts{Tally: NewTally()}, pairs: newPairs(&p)}
	switch {
	case p.Hub != nil:
		d.hub = newHub(hubConfig{Client: p.Hub, Removed: d.elsewhere, Mark: p.Mark})
	case p.Hold != nil:
		cfg := *p.Hold
		cfg.identity, cfg.swapped, cfg.stays = p.Identity, d.exchanged, d.stays
		cfg.within = traits.Points{Fields: p.Within.Fields, Groups: p.Within.Groups}
		if p.Mark != nil {
			cfg.mark = p.Mark.Mark
		}
		var err error
		if d.hold, err = newHold(cfg); err != nil {
			return nil, errors.Join(err, p.Filter.Close())
		}
	}
	d.tunnels.Ports = p.Identity.Tunnels
	d.single = d.newBatchDetector()
	return d, nil
}

// Copies judges the packets of the next batch, and returns a bitmap of the copies, as
// capture.Writer takes it: bit i%64 of word i/64 is packet i. The bitmap is valid until the
// next call. How the stream is cut into batches does not matter.
func (d *Detector) Copies(b *capture.Batch) (drop []uint64) {
	d.single.Prepare(b)
	return d.single.Judge(b)
}

// Filter returns the filter.
func (d *Detector) Filter() engine.PacketFilter { return d.parts.Filter }

// Position returns how many packets the filter has judged in landmark windows of packets, for
// window.Landmarks.Resume. It is 0 for all other windows.
func (d *Detector) Position() uint64 {
	if d.parts.Landmarks == nil {
		return 0
	}
	return d.parts.Landmarks.Position()
}

// Points returns the numbers of the capture points.
func (d *Detector) Points() *traits.CapturePoints { return d.parts.Points }

// NewDecoder returns a decoder of the headers that identities begin with.
func (d *Detector) NewDecoder() *headers.Decoder {
	return headers.NewDecoder(d.parts.Identity.Decode())
}

// Populate makes the system allocate the filter's memory now, if that memory has a bound.
// Otherwise the first packets would wait for it. It returns ctx's error if ctx ends first.
func (d *Detector) Populate(ctx context.Context) error {
	if f, ok := d.parts.Filter.(interface{ Populate(context.Context) error }); ok {
		return f.Populate(ctx)
	}
	return nil
}

// Waits reports whether packets wait for better copies, as of the last Write. Any goroutine
// may call it.
func (d *Detector) Waits() bool { return d.hold != nil && d.hold.isWaiting() }

// Close releases the filter's memory. Stats still works.
func (d *Detector) Close() error {
	if d.hold == nil {
		return d.parts.Filter.Close()
	}
	return errors.Join(d.parts.Filter.Close(), d.hold.Close())
}
