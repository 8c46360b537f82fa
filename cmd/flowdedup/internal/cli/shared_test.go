package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// sharedDir is the folder of captures with independent answers. It lies beside the
// project, not in it.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FLOWDEDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "..", "shared", "pcaps")
	}
	if _, err := os.Stat(filepath.Join(dir, "oracle_py.json")); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no shared captures in %s (set FLOWDEDUP_SHARED)", dir)
	}
	return dir
}

// sets are an oracle's distinct counts of a file or an hour.
type sets struct {
	Packets  uint64
	IP4Src   uint64 `json:"ip4_src"`
	IP4Dst   uint64 `json:"ip4_dst"`
	IP6Src   uint64 `json:"ip6_src"`
	IP6Dst   uint64 `json:"ip6_dst"`
	Src, Dst uint64
	Uni      uint64 `json:"tuples_uni"`
	Bi       uint64 `json:"tuples_bi"`
}

// answers are what an oracle says of a file.
type answers struct {
	Packets       uint64
	CapturedBytes uint64  `json:"captured_bytes"`
	Truncated     uint64  `json:"truncated_packets"`
	NoTimestamp   uint64  `json:"no_timestamp"`
	BackwardSteps uint64  `json:"backward_steps"`
	Error         *string // why reading ended early
	NotDecoded    []int   `json:"linktypes_not_decoded"`
	Hours         map[string]sets
	Duplicates    map[string]struct {
		Inf          uint64
		AnchoredLast map[string]uint64 `json:"anchored_last"`
		SlidingAbs   map[string]uint64 `json:"sliding_abs"`
	}
}

func readAnswers(t *testing.T, path string) map[string]answers {
	t.Helper()
	var doc struct{ Files map[string]answers }
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Files
}

// run executes a command line and returns what it printed and its exit code.
func run(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = Main(args, &out, &errs)
	return out.String(), errs.String(), code
}

type dedupResult struct {
	Method       string  `json:"method"`
	PredictedFPR float64 `json:"predicted_fpr"`
	EdgeError    float64 `json:"edge_error"`
	PacketsIn    uint64  `json:"packets_in"`
	PacketsOut   uint64  `json:"packets_out"`
	Duplicates   uint64
	Filtered     uint64
	BytesIn      uint64 `json:"bytes_in"`
	Snapped      uint64
	OutOfOrder   uint64 `json:"out_of_order"`
	NoTimestamp  uint64 `json:"no_timestamp"`
	NonIP        uint64 `json:"non_ip"`
	EvictedLive  uint64 `json:"evicted_live"`
	MemoryBytes  int64  `json:"memory_bytes"`
	Damaged      bool
	Undecidable  uint64
}

func runDedup(t *testing.T, wantCode int, args ...string) dedupResult {
	t.Helper()
	var r dedupResult
	out, errs, code := run(append([]string{"dedup", "--json"}, args...)...)
	if code != wantCode {
		t.Fatalf("dedup %s: exit code %d, want %d: %s", strings.Join(args, " "), code, wantCode, errs)
	}
	if out == "" {
		return r
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("dedup %s: %v in %q", strings.Join(args, " "), err, out)
	}
	return r
}

// exitOf is the exit code that a file with this answer must give.
func exitOf(a answers) int {
	switch {
	case a.Error == nil:
		return ExitDone
	case a.Packets == 0:
		return ExitFailed
	}
	return ExitDamaged
}

// sharedFiles returns the answers to all shared captures, and the names of those to read.
func sharedFiles(t *testing.T, dir string) (map[string]answers, []string) {
	t.Helper()
	files := readAnswers(t, filepath.Join(dir, "oracle_py.json"))
	names := make([]string, 0, len(files))
	for name, a := range files {
		names = append(names, name)
		if name == beyondSecond {
			a.NoTimestamp = a.Packets
			files[name] = a
		}
	}
	slices.Sort(names)
	return files, sample(6, names)
}

// beyondSecond is a capture whose times have a fraction of a second and more. They are no
// times here.
const beyondSecond = "ndpi__pcap_fuzz-2021-10-13.pcap"

// moreCopies are copies without IP that the independent parser does not find, because it
// compares such frames whole; by file.
var moreCopies = map[string]struct {
	inf                      uint64
	anchoredLast, slidingAbs map[string]uint64
}{
	// Gratuitous ARP of one station, padded with other bytes from time to time.
	"pcapparser__wireshark_samples-test.pcapng": {1, map[string]uint64{"60": 17}, map[string]uint64{"60": 33}},
}

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
					check(t, fmt.Sprintf("%s within %s", identity, d), r, a, dups+more.anchoredLast[w])
				}
				r := runDedup(t, exitOf(a), "--identity", identity, "--window", "none", path)
				check(t, identity+" without a window", r, a, want.Inf+more.inf)
			}
		})
	}
}

func check(t *testing.T, what string, r dedupResult, a answers, dups uint64) {
	t.Helper()
	if !r.found(dups) {
		t.Errorf("%s: %d duplicates, want %d (%d undecidable, %d forgotten)", what, r.Duplicates, dups, r.Undecidable, r.EvictedLive)
	}
	got := [...]uint64{r.PacketsIn, r.PacketsOut, r.BytesIn, r.Snapped, r.OutOfOrder, r.NoTimestamp}
	want := [...]uint64{a.Packets, a.Packets - r.Duplicates, a.CapturedBytes, a.Truncated, a.BackwardSteps, a.NoTimestamp}
	if got != want {
		t.Errorf("%s: packets in and out, bytes, snapped, out of order, no timestamp: %v, want %v", what, got, want)
	}
}

// found reports whether all duplicates were found, but for undecidable packets: the
// independent parser compares what was captured of a packet, however little.
func (r *dedupResult) found(dups uint64) bool {
	return r.Duplicates <= dups && r.Duplicates+r.Undecidable >= dups
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
			if dups += moreCopies[name].slidingAbs[w]; !r.found(dups) {
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
