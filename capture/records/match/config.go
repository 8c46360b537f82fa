// SPDX-License-Identifier: Apache-2.0

package match

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/engine"
)

// Config defines the copies of a judge. The zero value is policy owner for all exporters, with room
// for few flows.
type Config struct {
	// Key is the fields that distinguish flows, in addition to protocol, addresses and ports.
	Key Key
	// MayBiflow sets Key.Biflow with the first record that reports both directions. Leave it false
	// where the user has chosen the key.
	MayBiflow bool
	// Points distinguishes points within an exporter: the default does not. Choose another kind where
	// an exporter reports a flow several times, or several collectors store its records.
	Points PointKind
	// NAT counts a record with translated addresses for both flows. By default translations are
	// ignored: exporters on both sides of a translator then report different flows.
	NAT bool
	// OwnerTimeout is how long an owner may be silent after its reported time. Until then,
	// records of other points are copies. The default 0 fits
	// records with times: the flow moves as soon as another point reports a time that the owner did
	// not report. Without times, 0 stands for twice the longest duration of a record.
	OwnerTimeout time.Duration
	// Prefer are the exporters that own a flow before others, the best first. By default the first to
	// report a flow owns it.
	Prefer []netip.Addr
	// PreferSampling prefers exporters with smaller sampling intervals.
	PreferSampling bool
	// Pairs, if not nil, matches records one to one: for archives, and to audit accounting. It needs
	// exporters with the same timeouts.
	Pairs *Deltas
	// Boundary, if not nil, decides by interfaces only: for sampled exports, whose records do not match.
	Boundary *Boundary
	// Archives says that records come from files. If their times lie more than a day from when
	// their messages came, an archive was sent again: its own times count then, and no offset. Leave
	// it false for live records, whose clocks may be wrong.
	Archives bool
	// Memory bounds the remembered flows and points, in bytes: 7/8 for flows, and the rest for
	// points.
	Memory int
	Secret engine.Secret
}

const (
	// pointsShare is the share of memory that points get, half of it for pairs of them.
	pointsShare = 8
	// pointCost and pairCost are about the memory of a point and of a pair of points.
	pointCost, pairCost = 1 << 10, 64
	// leastPoints and leastPairs are remembered in any case.
	leastPoints, leastPairs = 64, 1 << 10
)

// forFlows returns the memory for flows.
func (c *Config) forFlows() int { return c.Memory - c.Memory/pointsShare }

// ErrConfig is wrapped by errors of New about values that cannot be.
var ErrConfig = errors.New("impossible configuration")

func (c *Config) check() error {
	switch {
	case int(c.Points) >= len(pointNames):
		return fmt.Errorf("%w: unknown kind of points %d", ErrConfig, uint8(c.Points))
	case c.OwnerTimeout < 0:
		return fmt.Errorf("%w: owners may be silent for %v", ErrConfig, c.OwnerTimeout)
	case c.Pairs != nil && c.Pairs.Start < 0:
		return fmt.Errorf("%w: records may start %v apart", ErrConfig, c.Pairs.Start)
	case c.Memory < 0:
		return fmt.Errorf("%w: %d bytes of memory", ErrConfig, c.Memory)
	}
	return nil
}

// needed returns the parts of a record that decide whether it is a copy.
func (c *Config) needed() records.Parts {
	all := records.PartFlow | records.PartTime
	for _, part := range []struct {
		decides bool
		part    records.Parts
	}{
		{c.Key.VLAN, records.PartVLAN}, {c.Key.VRF, records.PartVRF}, {c.Key.TOS, records.PartTOS}, {c.NAT, records.PartNAT},
		{c.Points == Direction || c.Points == Interface || c.Points == Observation || c.Boundary != nil, records.PartPoint},
		{c.Pairs != nil && (c.Pairs.Packets >= 0 || c.Pairs.Bytes >= 0), records.PartCounters},
	} {
		if part.decides {
			all |= part.part
		}
	}
	return all
}
