// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// dedup reads a capture at a site.
func (l *lab) dedup(site, file string, args ...string) summary {
	l.t.Helper()
	p := l.start(l.at(site), "flowdedup", append([]string{"dedup", "../../testdata/pcaps/" + file, "--hub", l.token(site), "--verdict-wait", "20s", "--json"}, args...)...)
	<-p.ended
	var s summary
	if err := json.Unmarshal(p.stdout.Bytes(), &s); err != nil || s.Unchecked != 0 {
		l.t.Fatalf("site %s: %v, %+v: %s", site, err, s, p.stderr.String())
	}
	return s
}

// TestOptions runs hubs with other identities than the usual one. Sites have them from their
// tokens.
func TestOptions(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 s: five hubs")
	}
	for _, c := range []struct {
		hub    []string
		first  []string
		second []string
		copies bool
	}{
		{[]string{"--ignore", "none"}, []string{"router-in.pcap"}, []string{"router-out.pcap"}, false}, // TTL differs
		{[]string{"--ignore", "none"}, []string{"router-in.pcap"}, []string{"router-in.pcap", "--ignore", "none"}, true},
		{nil, []string{"router-vlan.pcapng", "--filter", "vlan 10"}, []string{"router-vlan.pcapng", "--filter", "vlan 20"}, true},
		{[]string{"--within", "vlan"}, []string{"router-vlan.pcapng", "--filter", "vlan 10"}, []string{"router-vlan.pcapng", "--filter", "vlan 20"}, false},
		{[]string{"--within", "vlan"}, []string{"router-vlan.pcapng"}, []string{"router-vlan.pcapng", "--within", "vlan"}, true},
	} {
		t.Run(strings.Join(append(c.hub, c.second...), " "), func(t *testing.T) {
			l := newLab(t, append([]string{"--window", "5s"}, c.hub...)...)
			l.dedup("a", c.first[0], c.first[1:]...)
			if s := l.dedup("b", c.second[0], c.second[1:]...); (s.HubCopies > 0) != c.copies {
				t.Errorf("%+v, want copies: %v", s, c.copies)
			}
		})
	}
}

// TestMarked writes all packets of the second site, with a mark on those that the first
// has.
func TestMarked(t *testing.T) {
	l := newLab(t, "--window", "5s")
	l.dedup("a", "router-in.pcap")
	out := filepath.Join(l.dir, "marked.pcapng")
	s := l.dedup("b", "router-out.pcap", "--mark", "-w", out)
	src, err := pcapfile.Open(out, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	packets, elsewhere, here := 0, 0, 0
	var b capture.Batch
	for src.Next(&b) == nil {
		for i := range b.Frames {
			packets++
			record := string(b.Record(i))
			switch {
			case strings.Contains(record, "copy of a packet of another site"):
				elsewhere++
			case strings.Contains(record, "copy of packet"):
				here++
			}
		}
	}
	if packets != s.PacketsIn || elsewhere != s.HubCopies || elsewhere == 0 || elsewhere+here != s.PacketsIn-s.PacketsOut {
		t.Errorf("%d packets, %d marked as of another site, %d as of this: %+v", packets, elsewhere, here, s)
	}
}
