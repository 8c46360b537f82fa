// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
)

// errNoLAN is returned if no packet came on a path of a redundant network.
var errNoLAN = errors.New("no packet is of a PRP LAN or an HSR ring: nothing was compared")

// options returns the options of the input of a side. Those of LANs take the packets of
// one path.
func (c *config) options(side int) input.Options {
	opt := c.Input
	opt.Reassemble, opt.Tunnels = c.Identity.Kind == identity.Inner, c.Identity.Tunnels
	if c.LANs {
		opt.Wanted = func(b *capture.Batch, i int) bool {
			path, _ := headers.PathOf(b, i)
			return path != headers.NoPath && path.IsSecond() == (side == 1)
		}
	}
	return opt
}

// once reports whether both sides come from one input.
func (c *config) once() bool { return c.LANs && c.Inputs[0] == c.Inputs[1] }

// countRemoved counts the packets of the inputs that belong to no side. An input that both
// sides read has each packet once.
func (r *runner) countRemoved(s *Summary) {
	a, b := r.inputs[0], r.inputs[1]
	if s.Filtered = a.Filtered(); !r.cfg.once() {
		s.Filtered += b.Filtered()
	}
	switch {
	case r.cfg.once():
		s.Unpathed = max(a.Unwanted(), s.B.Packets) - s.B.Packets // all except the other side's
	case r.cfg.LANs:
		s.Unpathed = a.Unwanted() + b.Unwanted()
	}
}

// lanOf names the path of a side.
func (c *config) lanOf(side int) string {
	if !c.LANs {
		return ""
	}
	return [2]string{"A", "B"}[side]
}
