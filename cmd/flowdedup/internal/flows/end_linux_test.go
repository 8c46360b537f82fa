// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"testing"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
)

// TestEndCounts ends a run whose sockets hold more than it has time for: each datagram that came
// was judged, or is counted as dropped.
func TestEndCounts(t *testing.T) {
	const sent = 3000
	port := benchlab.FreePort(t)
	at := netip.MustParseAddrPort("127.0.0.1:" + port)
	conn, err := net.Dial("udp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	statuses := 0
	cfg := &config{
		Listen: []netip.AddrPort{at}, Policy: byOwner, Memory: 1 << 20, Log: slog.New(slog.DiscardHandler),
		// The run waits here while all is sent, and then is asked to end.
		Status: func(*summary) {
			if statuses++; statuses > 1 {
				return
			}
			for n := range sent {
				message := [24 + 48]byte{1: 5, 3: 1, 18: byte(n >> 8), 19: byte(n)} // NetFlow v5
				if _, err := conn.Write(message[:]); err != nil {
					t.Error(err)
				}
			}
			cancel()
		},
	}
	s, err := newRunner(cfg, 0).run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if s.Messages+s.Dropped != sent || s.Dropped == 0 {
		t.Errorf("%d messages were read and %d dropped of %d", s.Messages, s.Dropped, sent)
	}
}
