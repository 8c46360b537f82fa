// SPDX-License-Identifier: Apache-2.0

package distinct_test

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

import "testing"

// judges names the oracle to use for files on which the two disagree, with the reasons
// from the description of the shared set. All other files are compared with both.
var judges = map[string]struct{ oracle, reason string }{
	"derived__mix-a1.pcap":                                {"py", "tshark takes the last 4 bytes of SCTP in FabricPath for a frame check sequence"},
	"libpcap__pcap-invalid-version-1.pcap":                {"py", "Wireshark refuses version 1.x"},
	"libpcap__pcapng-invalid-vers-2.pcapng":               {"py", "Wireshark refuses version 1.1"},
	"ndpi__someip_sd_sample.pcap":                         {"tshark", "PPI"},
	"suricatave__bug-6875-01_fuzz.pcap":                   {"py", "Wireshark guesses another variant of the format"},
	"tcpdump__LINKTYPE_PKTAP.pcap":                        {"tshark", "PKTAP"},
	"tcpdump__LINKTYPE_USER2_PKTAP.pcap":                  {"tshark", "PKTAP"},
	"tcpdump__e1000g.pcap":                                {"tshark", "IPNET"},
	"tcpdump__icmp-icmp_print-oobr-2.pcap":                {"tshark", "frame relay"},
	"tcpdump__ipoib.pcap":                                 {"tshark", "IP over InfiniBand"},
	"tcpdump__juniper_es_oobr.pcap":                       {"py", "Wireshark refuses the link type word"},
	"tcpdump__juniper_monitor_invalid_cookie_length.pcap": {"py", "Wireshark refuses link type 164"},
	"zeek__llc.pcap":                                      {"tshark", "FDDI"},
}

// beyondTime names files whose hours cannot be compared, and why.
var beyondTime = map[string]string{
	clitest.BeyondSecond:                  "a fraction of a second and more is no time here",
	"tcpdump__brcm-tag-prepend.pcap":      "neither oracle opens link type 282",
	"nfstream__dhcp_little_endian.pcapng": "its timestamps lie 150,000 years ahead; 64-bit nanoseconds end in 2262, so it has none here",
	"zeek__mpls-6in6-broken.pcap.gz":      "tshark stops in a fuzzed MPLS stack, and oracle.py takes zeros below a label for IPv4",
}

// ofFragments are the flows, in one direction and in both, that the oracles make of later fragments,
// which have no ports. Here they belong to the flow of the first fragment.
var ofFragments = map[string]map[string][2]uint64{
	"derived__mix-a1.pcap":                  {"2023-11-14T23Z": {1, 1}, "2023-11-15T00Z": {2, 1}},
	"derived__mix-a2.pcapng":                {"2023-11-15T15Z": {1, 1}, "2023-11-16T10Z": {3, 2}, "2023-11-16T12Z": {1, 1}},
	"largepcapa__ipv4_gtpu_fragmented.pcap": {"2012-08-15T11Z": {2, 1}},
	"nfstream__ip_fragmented_garbage.pcap":  {"2018-08-14T10Z": {1, 1}},
}

// TestSharedDistinct compares distinct addresses and flows per hour of every
// shared capture with both oracles.
func TestSharedDistinct(t *testing.T) {
	dir := clitest.SharedDir(t)
	py, names := clitest.SharedFiles(t, dir)
	tshark := clitest.ReadAnswers(t, filepath.Join(dir, "oracles.json"))
	for _, method := range []string{"auto", "exact", "bloom"} {
		for _, name := range names {
			if reason := beyondTime[name]; reason != "" {
				t.Logf("%s left out: %s", name, reason)
				continue
			}
			t.Run(method+"/"+name, func(t *testing.T) {
				got := runDistinct(t, clitest.ExitOf(py[name]), "--method", method, filepath.Join(dir, name))
				judge := judges[name].oracle
				if judge != "tshark" {
					checkHours(t, "oracle.py", got, py[name].Hours, ofFragments[name])
				}
				if judge != "py" {
					checkHours(t, "tshark", got, tshark[name].Hours, ofFragments[name])
				}
			})
		}
	}
}

func runDistinct(t *testing.T, wantCode int, args ...string) map[string]clitest.Sets {
	t.Helper()
	out, errs, code := clitest.Run(append([]string{"distinct", "--json", "--of", "src,dst,flow,biflow"}, args...)...)
	if code != wantCode {
		t.Fatalf("distinct: exit code %d, want %d: %s", code, wantCode, errs)
	}
	hours := map[string]clitest.Sets{}
	for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
		var r clitest.DistinctRow
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Of == "" { // of fragments without their first
			continue
		}
		if r.Distinct < r.Low || r.Distinct > r.High {
			t.Errorf("%+v: count outside its bounds", r)
		}
		name := "no-timestamp"
		if r.WindowStart != "" {
			name = strings.TrimSuffix(r.WindowStart, ":00:00Z") + "Z"
		}
		h := hours[name]
		switch r.Of + "/" + r.Family {
		case "src/ipv4":
			h.IP4Src = r.Distinct
		case "src/ipv6":
			h.IP6Src = r.Distinct
		case "src/all":
			h.Src = r.Distinct
		case "dst/ipv4":
			h.IP4Dst = r.Distinct
		case "dst/ipv6":
			h.IP6Dst = r.Distinct
		case "dst/all":
			h.Dst = r.Distinct
		case "flow/all":
			h.Uni = r.Distinct
		case "biflow/all":
			h.Bi = r.Distinct
		}
		hours[name] = h
	}
	return hours
}

func checkHours(t *testing.T, oracle string, got, want map[string]clitest.Sets, fragments map[string][2]uint64) {
	t.Helper()
	for hour, w := range want {
		w.Packets = 0 // all packets there, IP packets in ours
		w.Uni, w.Bi = w.Uni-fragments[hour][0], w.Bi-fragments[hour][1]
		if got[hour] != w {
			t.Errorf("%s, %s: %+v, want %+v", oracle, hour, got[hour], w)
		}
	}
	for hour := range got {
		if _, ok := want[hour]; !ok {
			t.Errorf("%s has no hour %s", oracle, hour)
		}
	}
}
