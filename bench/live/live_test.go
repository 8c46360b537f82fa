//go:build linux

package main

import (
	"testing"
)

// TestCounts reads what tools print.
func TestCounts(t *testing.T) {
	for text, c := range map[string]struct {
		read func(string) (counts, error)
		want counts
	}{
		"50176 packets, 12 dropped, sum 0x5\n\n": {plain, counts{captured: 50176, dropped: 12}},
		"3 dropped\n70 packets, 5 copies\n\n":    {gopackets, counts{captured: 70, dropped: 3, copies: 5, found: true}},
		"\ntcpdump: listening on right\n9 packets captured\n11 packets received by filter\n2 packets dropped by kernel\n": {
			tcpdump, counts{captured: 9, dropped: 2}},
		"\nPackets captured: 8\nPackets received/dropped on interface 'right': 8/3 (pcap:3/dumpcap:0/flushed:0/ps_ifdrop:0) (72.7%)\n": {
			dumpcap, counts{captured: 8, dropped: 3}},
		`{"packets_in":10,"duplicates":4,"interfaces":[{"dropped":1},{"dropped":2}]}` + "\n\nlog": {
			summary, counts{captured: 10, dropped: 3, copies: 4, found: true}},
	} {
		if got, err := c.read(text); err != nil || got != c.want {
			t.Errorf("%q: %+v (%v), want %+v", text, got, err, c.want)
		}
		if _, err := c.read("nothing"); err == nil {
			t.Errorf("%q: no error for another text", text)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"more"}, {"-rounds", "-1"}, {"-unknown"}} {
		if err := run(args, nil); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
