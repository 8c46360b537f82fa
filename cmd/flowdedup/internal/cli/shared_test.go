// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSharedDedup compares the counts and duplicates of every shared capture with those
// of the independent parser.
func TestSharedDedup(t *testing.T) {
	dir := sharedDir(t)
	files, names := sharedFiles(t, dir)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			a, path := files[name], filepath.Join(dir, name)
			for _, identity := range []string{"frame", "l3"} {
				if identity == "l3" && len(a.NotDecoded) > 0 {
					// The independent parser knows no IP in these link types
					// and compares whole frames; flow's own tests hold ours
					// against tshark's addresses.
					continue
				}
				want, more := a.Duplicates[identity], moreCopies[name]
				if identity == "frame" {
					more = moreCopies[""]
				}
				for w, dups := range want.AnchoredLast {
					d, err := time.ParseDuration(w + "s")
					if err != nil {
						t.Fatal(err)
					}
					r := runDedup(t, exitOf(a), "--identity", identity, "--window", d.String(), path)
					check(t, fmt.Sprintf("%s within %s", identity, d), r, a, dups+more.AnchoredLast[w])
				}
				r := runDedup(t, exitOf(a), "--identity", identity, "--window", "none", path)
				check(t, identity+" without a window", r, a, want.Inf+more.Inf)
			}
		})
	}
}

func check(t *testing.T, what string, r dedupResult, a answers, dups uint64) {
	t.Helper()
	if !r.Found(dups) {
		t.Errorf("%s: %d duplicates, want %d (%d undecidable, %d forgotten)", what, r.Duplicates, dups, r.Undecidable, r.EvictedLive)
	}
	got := [...]uint64{r.PacketsIn, r.PacketsOut, r.BytesIn, r.Snapped, r.OutOfOrder, r.NoTimestamp}
	want := [...]uint64{a.Packets, a.Packets - r.Duplicates, a.CapturedBytes, a.Truncated, a.BackwardSteps, a.NoTimestamp}
	if got != want {
		t.Errorf("%s: packets in and out, bytes, snapped, out of order, no timestamp: %v, want %v", what, got, want)
	}
}

// TestSharedRefresh compares windows that slide (--refresh).
func TestSharedRefresh(t *testing.T) {
	dir := sharedDir(t)
	files, names := sharedFiles(t, dir)
	for _, name := range names {
		a := files[name]
		if len(a.NotDecoded) > 0 {
			continue
		}
		for w, dups := range a.Duplicates["l3"].SlidingAbs {
			d, err := time.ParseDuration(w + "s")
			if err != nil {
				t.Fatal(err)
			}
			r := runDedup(t, exitOf(a), "--refresh", "--window", d.String(), filepath.Join(dir, name))
			if dups += moreCopies[name].SlidingAbs[w]; !r.Found(dups) {
				t.Errorf("%s within %s: %d duplicates, want %d (%d undecidable)", name, d, r.Duplicates, dups, r.Undecidable)
			}
		}
	}
}

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
	"zeek__mpls-6in6-broken.pcap.gz":                      {"py", "tshark stops in a fuzzed MPLS stack"},
}

// beyondTime names files whose hours cannot be compared, and why.
var beyondTime = map[string]string{
	beyondSecond:                          "a fraction of a second and more is no time here",
	"tcpdump__brcm-tag-prepend.pcap":      "neither oracle opens link type 282",
	"nfstream__dhcp_little_endian.pcapng": "its timestamps lie 150,000 years ahead; 64-bit nanoseconds end in 2262, so it has none here",
}

type distinctResult struct {
	WindowStart *string `json:"window_start"`
	Of, Family  string
	Distinct    uint64
	Low, High   uint64
	Packets     uint64
}

// TestSharedDistinct compares distinct addresses and flows per hour of every
// shared capture with both oracles.
func TestSharedDistinct(t *testing.T) {
	dir := sharedDir(t)
	py, names := sharedFiles(t, dir)
	tshark := readAnswers(t, filepath.Join(dir, "oracles.json"))
	for _, method := range []string{"auto", "exact", "bloom"} {
		for _, name := range names {
			if reason := beyondTime[name]; reason != "" {
				t.Logf("%s left out: %s", name, reason)
				continue
			}
			t.Run(method+"/"+name, func(t *testing.T) {
				got := runDistinct(t, exitOf(py[name]), "--method", method, filepath.Join(dir, name))
				judge := judges[name].oracle
				if judge != "tshark" {
					checkHours(t, "oracle.py", got, py[name].Hours)
				}
				if judge != "py" {
					checkHours(t, "tshark", got, tshark[name].Hours)
				}
			})
		}
	}
}

func runDistinct(t *testing.T, wantCode int, args ...string) map[string]sets {
	t.Helper()
	out, errs, code := run(append([]string{"distinct", "--json", "--of", "src,dst,flow,biflow"}, args...)...)
	if code != wantCode {
		t.Fatalf("distinct: exit code %d, want %d: %s", code, wantCode, errs)
	}
	hours := map[string]sets{}
	for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
		var r distinctResult
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Distinct < r.Low || r.Distinct > r.High {
			t.Errorf("%+v: count outside its bounds", r)
		}
		name := "no-timestamp"
		if r.WindowStart != nil {
			name = strings.TrimSuffix(*r.WindowStart, ":00:00.000000000Z") + "Z"
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

func checkHours(t *testing.T, oracle string, got, want map[string]sets) {
	t.Helper()
	for hour, w := range want {
		w.Packets = 0 // all packets there, IP packets in ours
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
