// SPDX-License-Identifier: Apache-2.0

package analyzers_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// counts are the flows that an analyzer makes of conversations.
type counts struct {
	Conversations int `json:"conversations"`
	Split         int `json:"split"`     // conversations that are more than one flow
	TwoSided      int `json:"two_sided"` // flows
	OneSided      int `json:"one_sided"`
}

// flowCounts are the flows of a capture, by IP version and protocol.
type flowCounts struct {
	Packets int    `json:"packets"`
	TCP4    counts `json:"ipv4 tcp"`
	UDP4    counts `json:"ipv4 udp"`
	TCP6    counts `json:"ipv6 tcp"`
	UDP6    counts `json:"ipv6 udp"`
}

// tcp returns the counts of both IP versions.
func (c *flowCounts) tcp() counts {
	return counts{
		c.TCP4.Conversations + c.TCP6.Conversations, c.TCP4.Split + c.TCP6.Split,
		c.TCP4.TwoSided + c.TCP6.TwoSided, c.TCP4.OneSided + c.TCP6.OneSided,
	}
}

// keptPackets compares an output with the packets of a capture.
type keptPackets struct {
	Packets   int `json:"packets"`
	Unknown   int `json:"unknown"` // records that are no copy of any packet
	Missing   int `json:"missing"` // packets without a copy
	Twice     int `json:"twice"`
	Backwards int `json:"backwards"` // records that are older than one before
	Away      int `json:"away"`      // records that are not from the home of their conversation
	Torn      int `json:"torn"`      // datagrams whose fragments are from several points
}

// scene is a capture in which the first copies of the two directions of a conversation
// come from different points.
type scene struct {
	name, file string
	key        string   // the part of the analyzer's flow key in addition to the five-tuple
	find       []string // how copies are found
	strip      string   // flags that make the copies look alike
	twoSided   int      // TCP flows under that key before
	points     int      // the number of flows of each connection
	ordered    bool     // whether the sightings are in the order in which they came about
}

var scenes = []scene{
	{"router-ordered", "router-ordered.pcapng", "vlan", nil, "vlan", 42, 3, true},
	{"mirror-vxlan", "mirror-vxlan.pcap", "vni", []string{"--identity", "inner", "--ignore", "l4-checksum"}, "tunnel", 28, 2, true},
	{"mirror-geneve", "mirror-geneve.pcap", "vni", []string{"--identity", "inner", "--ignore", "l4-checksum"}, "tunnel", 10, 2, false},
}

func (s *scene) capture() string { return filepath.Join(capturesDir, s.file) }
func (s *scene) truth() string   { return filepath.Join(capturesDir, s.name+".truth.json") }

// counting is what flows are counted of.
type counting struct {
	content, key string
	inner        bool
}

// counted are flows of captures: several tests ask for the same, or write the same.
var counted answers[counting, flowCounts]

// flows counts the flows of a file with each reader that is there. They must agree.
func (s *scene) flows(t *testing.T, file, key string) flowCounts {
	t.Helper()
	return counted.get(counting{contentOf(t, file), key, s.inner()}, func() flowCounts { return s.count(t, file, key) })
}

// inner reports whether the flows are in tunnels.
func (s *scene) inner() bool { return s.key == "vni" }

func (s *scene) count(t *testing.T, file, key string) (answer flowCounts) {
	t.Helper()
	args := []string{"flows", file, "--key", key}
	if s.inner() {
		args = append(args, "--inner")
	}
	askPython(t, &answer, "judge", args...)
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Log("skipped: the reader that is tshark: ", err)
		return answer
	}
	var again flowCounts
	askPython(t, &again, "judge", append(args, "--reader", "tshark")...)
	if answer != again {
		t.Errorf("%s: tshark reads %+v, the other reader %+v", file, again, answer)
	}
	return answer
}

// kept looks up the packets of an output.
func (s *scene) kept(t *testing.T, file string, args ...string) (answer keptPackets) {
	t.Helper()
	askPython(t, &answer, "judge", append([]string{"kept", s.truth(), file}, args...)...)
	if !s.ordered {
		answer.Torn = 0 // fragments come before the first of their datagram
	}
	return answer
}

// dedup removes the copies of a file.
func (s *scene) dedup(t *testing.T, file string, args ...string) (output string, split int) {
	t.Helper()
	output = filepath.Join(t.TempDir(), "kept.pcapng")
	args = append([]string{"dedup", "--json", "-w", output, file}, args...)
	var summary struct {
		SplitConversations int `json:"split_conversations"`
	}
	if err := json.Unmarshal(command(t, flowdedup, append(args, s.find...)...), &summary); err != nil {
		t.Fatal(err)
	}
	return output, summary.SplitConversations
}

// TestFirst shows the problem: an analyzer with the capture point in its flow key sees
// whole flows in the capture, and half flows in the deduplicated one.
func TestFirst(t *testing.T) {
	t.Parallel()
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			whole, before := s.flows(t, s.capture(), ""), s.flows(t, s.capture(), s.key)
			connections := whole.tcp().Conversations
			if want := (counts{connections, connections, s.twoSided, 0}); before.tcp() != want {
				t.Errorf("before: %+v, want %+v", before.tcp(), want)
			}
			if connections*s.points != s.twoSided || whole.TCP4.Conversations == 0 || whole.TCP6.Conversations == 0 {
				t.Errorf("conversations: %+v", whole)
			}
			output, split := s.dedup(t, s.capture(), "--keep", "first", "--prefer", "first")
			after, kept := s.flows(t, output, s.key), s.kept(t, output)
			t.Logf("before %+v, first %+v", before.tcp(), after.tcp())
			if after.tcp().Split != connections || kept.Away == 0 || split < connections {
				t.Errorf("after: %+v, kept %+v, the summary says %d", after.tcp(), kept, split)
			}
			if want := (counts{connections, connections, 0, 2 * connections}); s.ordered && after.tcp() != want {
				t.Errorf("after: %+v, want %+v", after.tcp(), want)
			}
		})
	}
}

// TestKeep takes the copies of a conversation from one point, or makes them alike. The
// analyzer then has the flows of a key of only five-tuples. Nothing is lost.
func TestKeep(t *testing.T) {
	t.Parallel()
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			first, _ := s.dedup(t, s.capture(), "--keep", "first")
			want, n := s.flows(t, s.capture(), ""), s.kept(t, first).Packets
			want.Packets = n
			// Packets with the right checksums are from the other end.
			flow, split := s.dedup(t, s.capture(), "--prefer", "first")
			if got := s.flows(t, flow, s.key); got != want || split != 0 && s.ordered { // else fragments are
				t.Errorf("by default: %+v, want %+v; the summary says %d are split", got, want, split)
			}
			if got := s.kept(t, flow); got != (keptPackets{Packets: n}) {
				t.Errorf("by default: %+v, want %d packets", got, n)
			}
			alike, _ := s.dedup(t, s.capture(), "--keep", "first", "--strip", s.strip)
			got := s.flows(t, alike, s.key)
			t.Logf("flow and strip: %+v", got.tcp())
			if got != want {
				t.Errorf("--strip %s: %+v, want %+v", s.strip, got, want)
			}
			stripped := s.kept(t, alike, "--strip", s.strip)
			if stripped.Away, stripped.Torn = 0, 0; stripped != (keptPackets{Packets: n}) {
				t.Errorf("--strip %s: %+v, want %d packets", s.strip, stripped, n)
			}
		})
	}
}

// TestKeepLossy removes the home copy of every tenth packet of each conversation first.
// Packets missing from home come from elsewhere, and no other packets do.
func TestKeepLossy(t *testing.T) {
	t.Parallel()
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var thin struct{ Removed int }
			lossy := filepath.Join(t.TempDir(), "lossy"+filepath.Ext(s.file))
			askPython(t, &thin, "judge", "thin", s.truth(), lossy)
			if thin.Removed < 5 {
				t.Fatalf("%d copies are removed", thin.Removed)
			}
			first, _ := s.dedup(t, lossy, "--keep", "first")
			flow, _ := s.dedup(t, lossy, "--keep", "flow", "--prefer", "first")
			want := keptPackets{Packets: s.kept(t, first, "--input", lossy).Packets, Away: thin.Removed}
			if got := s.kept(t, flow, "--input", lossy); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// TestKeepAll keeps as many packets of all captures as without these flags, also where
// copies are too far away in the file to choose between them.
func TestKeepAll(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join(capturesDir, "*.truth.json"))
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		truth := readTruth(t, strings.TrimSuffix(filepath.Base(name), ".truth.json"))
		args := []string{"dedup", "--json", "--identity", truth.Identity, "-w", filepath.Join(t.TempDir(), "kept.pcapng")}
		if truth.Ignore != nil {
			args = append(args, "--ignore", strings.Join(truth.Ignore, ","))
		}
		if truth.Across {
			args = append(args, "--across")
		}
		for _, file := range truth.Files {
			args = append(args, filepath.Join(capturesDir, file))
		}
		for _, flags := range [][]string{{"--keep", "first"}, {"--keep", "flow"}, {"--keep", "flow", "--strip", "vlan,mpls,pppoe,tunnel"}, {"--keep", "flow", "--hold", "1s"}} {
			var summary struct {
				Kept int `json:"packets_out"`
			}
			if err := json.Unmarshal(command(t, flowdedup, append(args, flags...)...), &summary); err != nil {
				t.Fatal(err)
			}
			if want := truth.Packets - truth.Duplicates; summary.Kept != want {
				t.Errorf("%s %s: %d packets are kept, want %d", filepath.Base(name), strings.Join(flags, " "), summary.Kept, want)
			}
		}
	}
}

// TestWithin keeps each packet once for each VLAN or VNI, so that the analyzer has all the
// flows that were captured.
func TestWithin(t *testing.T) {
	t.Parallel()
	for _, s := range scenes {
		output, split := s.dedup(t, s.capture(), "--keep", "first", "--within", s.key)
		before, after := s.flows(t, s.capture(), s.key), s.flows(t, output, s.key)
		if after.Packets >= before.Packets && s.key == "vlan" {
			t.Errorf("%s: %d packets are left of %d", s.name, after.Packets, before.Packets)
		}
		if after.Packets = before.Packets; after != before {
			t.Errorf("%s: %+v, want %+v; %d are split", s.name, after, before, split)
		}
		if kept := s.kept(t, output); kept.Missing != 0 || kept.Unknown != 0 || kept.Twice == 0 {
			t.Errorf("%s: %+v", s.name, kept)
		}
	}
}

// TestPrefer takes all packets from VLAN 20, where none of the conversations began.
func TestPrefer(t *testing.T) {
	t.Parallel()
	need(t, "tcpdump")
	s := scenes[0]
	truth, ported := readTruth(t, s.name), 0
	for _, c := range truth.Conversations {
		ported += c.Packets
	}
	output, _ := s.dedup(t, s.capture(), "--prefer", "vlan 20")
	want := s.flows(t, s.capture(), "")
	want.Packets = truth.Packets - truth.Duplicates
	if got := s.flows(t, output, s.key); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := s.kept(t, output); got != (keptPackets{Packets: want.Packets, Away: ported}) {
		t.Errorf("%+v, want %d packets, %d of them away from home", got, want.Packets, ported)
	}
}

// TestStripNames finds the VNI of packets from a tunnel in the names of interfaces.
func TestStripNames(t *testing.T) {
	t.Parallel()
	need(t, "tshark")
	for _, s := range scenes[1:] {
		output, _ := s.dedup(t, s.capture(), "--keep", "first", "--strip", s.strip)
		names := string(command(t, "tshark", "-r", output, "-T", "fields", "-e", "frame.interface_name"))
		tunnel := strings.TrimPrefix(s.name, "mirror-")
		for _, vni := range map[string][]string{"vxlan": {"7001", "7002"}, "geneve": {"8001", "8002"}}[tunnel] {
			if !strings.Contains(names, tunnel+":"+vni) {
				t.Errorf("%s: no interface %s:%s in %.200q", s.name, tunnel, vni, names)
			}
		}
	}
}

// TestStripSound has tshark sum the packets out of tunnels, and follow their connections. The mirror
// has cut 16 packets of mirror-vxlan: tshark sees them as truncated, so no checksum is wrong and no
// segment seems lost.
func TestStripSound(t *testing.T) {
	t.Parallel()
	need(t, "tshark")
	for _, s := range scenes[1:] {
		output, _ := s.dedup(t, s.capture(), "--keep", "first", "--strip", s.strip)
		sums := strings.Fields(string(command(t, "tshark", "-r", output, "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
			"-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE", "-T", "fields", "-e", "tcp.checksum.status", "-e", "udp.checksum.status")))
		counts := map[string]int{}
		for _, status := range sums {
			counts[status]++
		}
		if right := counts["1"]; counts["0"] != 0 || right < 80 || s.name == "mirror-vxlan" && right != 236 {
			t.Errorf("%s: %v", s.name, counts)
		}
		if lost := command(t, "tshark", "-r", output, "-Y", "tcp.analysis.lost_segment or tcp.analysis.ack_lost_segment"); s.ordered && len(lost) > 0 {
			t.Errorf("%s: %s", s.name, lost)
		}
	}
}
