// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"log/slog"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
)

// logLosses logs what was lost at a ring since the last time, by its cause.
func logLosses(log *slog.Logger, before, s *afpacket.Stats) {
	for _, lost := range []struct {
		now, before uint64
		what        string
		more        []any
	}{
		{s.Full(), before.Full(), "the kernel dropped packets: the ring was full", []any{"freezes", s.Freezes}},
		{s.TooLong, before.TooLong, "the kernel dropped packets: they were longer than the MTU allows for", nil},
		{s.ToHost, before.ToHost, "the host got packets instead of the capture: the interface has more receive queues, or another MTU", nil},
		{s.Card.Lost(), before.Card.Lost(), "the network card or the host lost packets before the capture", []any{"counters", s.Card.String()}},
	} {
		if lost.now > lost.before {
			log.Warn(lost.what, append([]any{"dropped", lost.now - lost.before, "dropped_total", lost.now}, lost.more...)...)
		}
	}
}

// warnLosses warns of everything that was lost at an interface, by its cause.
func warnLosses(e *cli.Env, n *monitor.Interface) {
	if full := n.Dropped - n.TooLong - n.ToHost; full > 0 {
		e.Warn(fmt.Errorf("%s: the kernel dropped %d of %d packets because a %s was full: use a larger --ring-size",
			n.Name, full, n.Received, bufferOf(n)))
	}
	if n.TooLong > 0 {
		e.Warn(fmt.Errorf("%s: the kernel dropped %d of %d packets because they were longer than the MTU allows for: ethtool -K %s gro off lro off, if the host merges packets, else a larger MTU",
			n.Name, n.TooLong, n.Received, n.Name))
	}
	if n.ToHost > 0 {
		e.Warn(fmt.Errorf("%s: the host got %d of %d packets, as the interface had other queues or another MTU than before", n.Name, n.ToHost, n.Received))
	}
	if n.CardDropped > 0 {
		e.Warn(fmt.Errorf("%s: the network card or the host lost at least %d packets before the capture: %s", n.Name, n.CardDropped, n.Card))
	}
}

// bufferOf names the buffer that packets wait in.
func bufferOf(n *monitor.Interface) string {
	if n.Network != nil && n.Mirrored != nil {
		return "socket"
	}
	return "ring"
}
