// SPDX-License-Identifier: Apache-2.0

package sockets

import (
	"math"
	"testing"
)

// TestCard adds up counters that begin above 0, wrap, begin anew, and belong to another interface.
func TestCard(t *testing.T) {
	type look struct {
		index     int
		now       CardCounts
		own, lost uint64
	}
	for name, looks := range map[string][]look{
		"before the start": {{1, CardCounts{rxMissed: 500}, 0, 0}, {1, CardCounts{rxMissed: 507}, 0, 7}},
		"32 bits":          {{1, CardCounts{rxMissed: math.MaxUint32}, 0, 0}, {1, CardCounts{rxMissed: 4}, 0, 5}},
		"64 bits":          {{1, CardCounts{rxMissed: 1 << 40}, 0, 0}, {1, CardCounts{rxMissed: 1<<40 + 5}, 0, 5}},
		"anew":             {{1, CardCounts{rxMissed: 900}, 0, 0}, {1, CardCounts{rxMissed: 2}, 0, 0}, {1, CardCounts{rxMissed: 5}, 0, 3}},
		"fewer queues":     {{1, CardCounts{rxMissed: 900}, 0, 0}, {1, CardCounts{rxMissed: 890}, 0, 0}, {1, CardCounts{rxMissed: 891}, 0, 1}},
		"another card":     {{1, CardCounts{rxMissed: 9}, 0, 0}, {1, CardCounts{rxMissed: 10}, 0, 1}, {2, CardCounts{rxMissed: 70}, 0, 1}, {2, CardCounts{rxMissed: 72}, 0, 3}},
		// Drivers count a loss in several counters.
		"twice":   {{1, CardCounts{}, 0, 0}, {1, CardCounts{rxMissed: 5, rxFIFO: 5, rxOver: 5, ofDrivers: 5}, 0, 5}},
		"parts":   {{1, CardCounts{}, 0, 0}, {1, CardCounts{rxDropped: 3, rxMissed: 5, rxFIFO: 7}, 0, 8}},
		"FIFO":    {{1, CardCounts{}, 0, 0}, {1, CardCounts{rxFIFO: 7}, 0, 7}},
		"no loss": {{1, CardCounts{}, 0, 0}, {1, CardCounts{rxNoHandler: 7, ofDrivers + 3: 9}, 0, 0}},
		// Packets may be delivered after rx_dropped has counted them.
		"own":        {{1, CardCounts{}, 0, 0}, {1, CardCounts{rxDropped: 4}, 1, 0}, {1, CardCounts{rxDropped: 4}, 4, 0}},
		"own, later": {{1, CardCounts{}, 0, 0}, {1, CardCounts{rxDropped: 4}, 4, 0}, {1, CardCounts{rxDropped: 9}, 4, 0}, {1, CardCounts{rxDropped: 9}, 4, 5}},
	} {
		var c card
		for i, l := range looks {
			c.add(l.index, &l.now, l.own, i == len(looks)-1)
			if got := c.lost.Lost(); got != l.lost {
				t.Errorf("%s, look %d: %d lost, want %d: %v", name, i, got, l.lost, c.lost)
			}
		}
	}
}

// TestCardWords names what grew.
func TestCardWords(t *testing.T) {
	var c CardCounts
	if c.String() != "" || c.Named() != nil {
		t.Errorf("%q %v", c, c.Named())
	}
	c[rxDropped], c[rxNoHandler] = 3, 1
	if got := c.String(); got != "rx_dropped 3, rx_nohandler 1" {
		t.Error(got)
	}
	if n := c.Named(); len(n) != 2 || n["rx_dropped"] != 3 || n["rx_nohandler"] != 1 {
		t.Error(n)
	}
}
