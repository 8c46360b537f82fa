// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Config says which packets are copies, and which of equal packets stays. With the zero value, as
// with the command, an IP datagram is a copy within a millisecond of an equal one that was kept,
// and what routers change does not count. The first of equal packets stays.
type Config struct {
	// Identity says what makes two packets the same packet.
	Identity identity.Config
	// Window is the largest distance between a copy and its original; the zero value stands for
	// window.Default. With Refresh a copy renews the memory of its original. With Across only packets
	// that two capture points saw are copies: repeats that a sender means then stay, however long the
	// window is.
	Window          window.Window
	Refresh, Across bool
	// Zone is the time zone of a landmark window of days or weeks; nil means UTC.
	Zone *time.Location
	// Filter finds copies within Window, Refresh and Across. nil stands for window.Timed with as
	// much memory as the traffic needs; others bound memory or errors, or continue a saved filter.
	// The Detector closes it.
	Filter engine.PacketFilter
	// VerifyCopies is the memory, in bytes, of a table of the latest packets: only packets that equal
	// a packet of the table are copies. See stream.Verified, and Stats.Unverified. 0, for no table, is
	// right for all filters but those that take many packets for copies. A restored Filter has its
	// table.
	VerifyCopies int
	// Secret keys all hashes. Without it, an attacker cannot make packets that collide with those
	// of others. The zero value stands for a random secret: leave it unless a Filter or a Hub has
	// digests of other runs.
	Secret engine.Secret
	// Digester makes what makes digests, for each batch that is under way; nil stands for AES with
	// the key of Secret.
	Digester func() digest.MessageDigester
	// Within says at which points equal packets are copies of each other: where any of its fields
	// differs they are not. The zero value is at all points. Its groups join identifiers, such as the
	// VLANs of a tenant before and behind a firewall.
	Within traits.Points
	// Only chooses the packets that are judged, nil for all. Others are kept, and not
	// remembered: no packet is a copy of one of them, and a window of packets does not
	// count them.
	Only Chooser
	// Protect chooses packets that are never removed, nil for none. Verdicts are as without it: a
	// protected copy begins no window.
	Protect Chooser
	// Hold says which of equal packets are written, by Tasks and by BatchDetector.Write; the
	// verdicts of Copies and Judge do not depend on it. Packets wait for better copies with Flow
	// and Prefer, and with Intact if equal packets may be of different quality: see
	// identity.Config.Uneven. A For of 0 then stands for the window, at most 10 ms. Where no packet
	// waits, a fit packet within For of an equal unfit packet before it counts as its copy, as where
	// packets wait and it takes that packet's place. The command chooses Flow where it writes packets.
	Hold hold.Config
	// Prefer ranks packets: of equal packets it keeps the choice of the first Chooser, else of the
	// second, and so on: see MaxPreferences. It counts before Hold.Flow and Hold.Intact.
	Prefer []Chooser
	// Checksums makes packets unfit whose checksum of TCP, UDP or ICMP is wrong, or cannot be
	// verified since they were truncated. Unfit are also packets that no receiver takes: see
	// identity.Messages.Broken. A fit packet is no copy of an unfit packet before it.
	//
	// It has a meaning if equal packets may be of different quality, and without Across, with which
	// all packets of a point stay. Hold.Intact implies it.
	Checksums bool
	// Reader says which headers the reader of the output surely opens; nil for all. Packets in other
	// headers are unfit.
	Reader *headers.Plain
	// Hub asks a hub about the packets that the filter leaves; nil for none. Hold then has no
	// meaning.
	Hub *hubclient.Client
	// Mark adds comments to copies, and all packets are written. With nil, copies are removed.
	Mark *traits.Marker
	// Conversations counts the conversations of written packets; nil for none.
	Conversations *traits.SplitCounter
	// Observers get the decisions of the Detector.
	Observers []Observer
	// Points and Position are Detector.Points and Detector.Position of the run that Filter was
	// saved by; nil and 0 for none.
	Points   *traits.CapturePoints
	Position uint64
}

// MaxPreferences is how many choosers Prefer may have.
const MaxPreferences = 255

// ErrConfig is wrapped by the errors about a Config that no Detector can have.
var ErrConfig = engine.ErrConfig

// configError makes such an error.
func configError(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrConfig, fmt.Errorf(format, args...))
}

// check returns an error for values that cannot be.
func (c *Config) check() error {
	if err := cmp.Or(c.Identity.Validate(), c.Within.Fields.Validate(), c.Hold.Validate()); err != nil {
		return configError("%w", err)
	}
	switch {
	case c.VerifyCopies < 0:
		return configError("%d bytes for a table that verifies copies", c.VerifyCopies)
	case len(c.Prefer) > MaxPreferences:
		return configError("%d preferences, more than %d", len(c.Prefer), MaxPreferences)
	case slices.ContainsFunc(c.Prefer, func(c Chooser) bool { return c == nil }):
		return configError("a preference is nil")
	}
	return nil
}

// maxHold bounds holds by default.
const maxHold = 10 * time.Millisecond

// setHold completes Hold and Checksums, and reports whether packets wait. Window is set.
func (c *Config) setHold() (waits bool) {
	uneven := c.Identity.Uneven()
	c.Hold.Intact = c.Hold.Intact && uneven
	c.Checksums = c.Hold.Intact || c.Checksums && uneven
	if !c.Hold.Flow && !c.Hold.Intact && len(c.Prefer) == 0 {
		return false
	}
	if c.Hold.For == 0 {
		c.Hold.For = maxHold
		if w := c.Window.Duration; w > 0 {
			c.Hold.For = min(w, maxHold)
		}
	}
	return true
}

// Sightings returns how points and conversations are read of packets whose copies are found by an
// identity: inner identities have the points of the innermost headers.
func Sightings(of identity.Config, key engine.Secret, fields traits.PointFields) traits.SightingConfig {
	seed := key.AESKey(engine.UseSightings)
	return traits.SightingConfig{Inner: of.Kind == identity.Inner, Tunnels: of.Tunnels, Fields: fields, Seed: binary.LittleEndian.Uint64(seed[:])}
}
