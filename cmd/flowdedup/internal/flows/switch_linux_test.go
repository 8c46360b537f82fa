// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestFlowsOpenVSwitch relays the exports of the bridges of Open vSwitch on one path: the
// records of one stay, and cover every packet. With IPFIX each bridge reports packets as they
// come and as they leave.
func TestFlowsOpenVSwitch(t *testing.T) {
	if os.Getenv("FLOWDEDUP_EXPORTERS") == "" {
		t.Skip("takes 20 s: make test SUITE=exporters")
	}
	const bridges = 3
	frames := clitest.FramesOf(t, clitest.Bundled("router-in.pcap"))
	v4, all := trafficOf(t, frames)
	others := uint64(len(frames)) - all.Packets // ARP
	const ethernet, arp, checksum = 14, 28, 4   // bytes that some of its protocols count
	for table, c := range map[string]struct {
		config   []string
		points   int
		reported amount // by each point
		kept     amount // of IP
		nfcapd   bool
	}{
		"netflow": {
			config: []string{"active-timeout=1"}, points: bridges, nfcapd: true,
			reported: amount{v4.Packets, v4.Bytes + ethernet*v4.Packets}, kept: amount{v4.Packets, v4.Bytes + ethernet*v4.Packets},
		},
		// nfcapd takes the totals of Open vSwitch, of all flows, for those of a record.
		"ipfix": {
			config: []string{"sampling=1", "cache_active_timeout=60", "cache_max_flows=4096"}, points: 2 * bridges,
			reported: amount{all.Packets + others, all.Bytes}, kept: all,
		},
		// Kept records are not compared, as samples have only their times of arrival.
		"sflow": {
			config: []string{"sampling=1", "header=128", "polling=0"}, points: bridges,
			reported: amount{all.Packets + others, all.Bytes + (ethernet+checksum)*all.Packets + (ethernet+arp+checksum)*others},
		},
	} {
		t.Run(table, func(t *testing.T) {
			flowNet(t, bridges, "ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl", "nfcapd", "nfdump", "goflow2")
			s := clitest.NewOpenVSwitch(t, bridges)
			for n := range bridges {
				config := append([]string{fmt.Sprintf("targets=%q", exporterAddress(n+1)+":2055")}, c.config...)
				if table == "sflow" {
					config = append(config, "agent="+exporterAddress(n+1))
				}
				s.Set(append([]string{"set", "bridge", clitest.Bridge(n), table + "=@x", "--", "--id=@x", "create", table}, config...)...)
			}
			to := newCollector(t, c.nfcapd)
			r := startFlows(t, "--to", "udp://"+collectorAddress, "--point", "direction")
			through(t, "left0", fmt.Sprintf("right%d", bridges), frames)
			if table == "ipfix" {
				for n := range bridges {
					s.Set("clear", "bridge", clitest.Bridge(n), table) // which makes it report its flows
				}
			}
			wait.Until(t, "records of every packet", func() bool { return r.total("bytes") >= uint64(c.points)*c.reported.Bytes })
			sum := r.stop()
			if len(sum.Points) != c.points || sum.Undecodable+sum.Lost+sum.Sampled != 0 || sum.Copies == 0 {
				t.Errorf("%+v", sum)
			}
			for _, p := range sum.Points {
				if (amount{p.Packets, p.Bytes}) != c.reported {
					t.Errorf("%s tells of %d packets and %d bytes, not %+v", p.Name, p.Packets, p.Bytes, c.reported)
				}
			}
			if kept := r.amount(); c.kept != (amount{}) && kept != c.kept {
				t.Errorf("%+v are kept, want %+v", kept, c.kept)
			}
			to.check(r.written())
		})
	}
}

// through sends frames out of an interface, each when the one before has come to another
// one: the switch drops some of many at once.
func through(t *testing.T, from, to string, frames []string) {
	t.Helper()
	s, err := afpacket.OpenSender(afpacket.SenderConfig{Interface: from, Queue: true, RetryTimeout: wait.Timeout})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := receivedBy(t, to)
	for n, data := range frames {
		b := &capture.Batch{Interfaces: []capture.Interface{{LinkType: capture.LinkEthernet}}, Sections: make([]capture.Section, 1)}
		b.Append(capture.Frame{WireLen: uint32(len(data))}, []byte(data))
		if err := s.Send(b, nil); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, fmt.Sprintf("frame %d at %s", n, to), func() bool { return receivedBy(t, to) > before+n })
	}
}

// receivedBy returns how many frames an interface has received.
func receivedBy(t *testing.T, name string) int {
	t.Helper()
	for line := range strings.Lines(string(mustReadFile(t, "/proc/thread-self/net/dev"))) {
		words := strings.Fields(line)
		if len(words) > 2 && words[0] == name+":" {
			n, err := strconv.Atoi(words[2])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no interface ", name)
	return 0
}
