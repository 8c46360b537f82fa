// SPDX-License-Identifier: Apache-2.0

package analyzers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// comment matches the comment of --mark on a copy.
var comment = regexp.MustCompile(`^(\d+)\tcopy of packet (\d+)`)

// TestWireshark runs the recipe, and looks up each mark: all sightings of a packet except
// one are marked, and name that one.
func TestWireshark(t *testing.T) {
	t.Parallel()
	k, recipe, truth := newKitchen(t, "tshark"), blocks(t, "## Wireshark"), readTruth(t, "router-ordered")
	marked := map[string]string{}
	for line := range strings.Lines(k.cook(recipe[0])) {
		if m := comment.FindStringSubmatch(line); m != nil {
			marked[m[1]] = m[2]
		}
	}
	if len(marked) != truth.Duplicates {
		t.Errorf("%d copies are marked, want %d", len(marked), truth.Duplicates)
	}
	for _, packet := range truth.Sightings {
		var kept []string
		named := map[string]bool{}
		for _, number := range packet {
			if name := strconv.Itoa(number + 1); marked[name] == "" {
				kept = append(kept, name)
			} else {
				named[marked[name]] = true
			}
		}
		if len(kept) != 1 || len(named) > 1 || len(named) == 1 && !named[kept[0]] {
			t.Fatalf("of the packets from %d on %v have no mark, and the others name %v", packet[0]+1, kept, named)
		}
	}
	kept := captureOf(t, k.path("kept.pcapng"))
	if want := truth.Packets - truth.Duplicates; kept.Packets != want {
		t.Errorf("%d packets have no mark, want %d", kept.Packets, want)
	}
	if problems := flagged(k.cook(recipe[1])); problems != 0 {
		t.Errorf("%d packets look wrong without copies", problems)
	}
	problems := flagged(k.cook("tshark -r span.pcapng -Y tcp.analysis.flags"))
	if said := fmt.Sprintf("flags %d packets", problems); problems == 0 || !strings.Contains(page(t, "recipes.md"), said) {
		t.Errorf("the page does not say that Wireshark %s", said)
	}
}

// flagged counts the packets that tshark prints.
func flagged(printed string) (n int) {
	for line := range strings.Lines(printed) {
		if strings.Contains(line, " TCP ") || strings.Contains(line, "→") {
			n++
		}
	}
	return n
}

// captureOf counts the flows of a capture without regard to points.
func captureOf(t *testing.T, file string) (answer flowCounts) {
	t.Helper()
	askPython(t, &answer, "judge", "flows", file)
	return answer
}

// TestWiresharkRouter reads captures of the router, before and after: every one with
// FLOWDEDUP_READERS=all, else one of each kind. Copies look like faults of TCP, and none of
// these remain.
func TestWiresharkRouter(t *testing.T) {
	t.Parallel()
	k := newKitchen(t, "tshark")
	names, err := filepath.Glob(filepath.Join(capturesDir, "router-*.pcap*"))
	if err != nil || len(names) < 8 {
		t.Fatal(names, err)
	}
	if !allReaders() {
		names = nil
		for _, name := range []string{"router-in.pcap", "router-any-sll2.pcap", "router-plain.pcapng"} {
			names = append(names, filepath.Join(capturesDir, name))
		}
	}
	const faults = " -Y 'tcp.analysis.retransmission || tcp.analysis.duplicate_ack || tcp.analysis.out_of_order || tcp.analysis.lost_segment'"
	for _, name := range names {
		name := absolute(t, name)
		before := flagged(k.cook("tshark -r " + name + faults))
		k.cook("flowdedup dedup " + name + " -w clean.pcapng")
		after := flagged(k.cook("tshark -r clean.pcapng" + faults))
		oneSide := strings.HasSuffix(name, "-in.pcap") || strings.HasSuffix(name, "-out.pcap")
		if t.Logf("%s: %d, then %d", filepath.Base(name), before, after); after != 0 || (before == 0) != oneSide {
			t.Errorf("%s: %d packets look wrong before and %d after", filepath.Base(name), before, after)
		}
	}
}

// expired is a flow that softflowd prints, of TCP.
var expired = regexp.MustCompile(`EXPIRED: \S+ \[(\S+)\]:(\d+) <> \[(\S+)\]:(\d+) proto:6 .* packets>:(\d+) .* packets<:(\d+) `)

// TestSoftflowd counts the packets of each connection in the flows of softflowd.
func TestSoftflowd(t *testing.T) {
	t.Parallel()
	k := newKitchen(t, "softflowd")
	got := map[string]int{}
	for line := range strings.Lines(k.cook(blocks(t, "## Flow exporters")[0])) {
		if m := expired.FindStringSubmatch(line); m != nil {
			got[connection(m[1]+" "+m[2], m[3]+" "+m[4])] += number(t, m[5]) + number(t, m[6])
		}
	}
	truth := readTruth(t, "router-ordered")
	if want := truth.tcp(); !maps.Equal(got, want) {
		t.Errorf("softflowd counts %v, want %v", got, want)
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNfpcapd counts them in the flows of nfpcapd, one for each direction.
func TestNfpcapd(t *testing.T) {
	t.Parallel()
	k := newKitchen(t, "nfpcapd", "nfdump")
	if both := k.cook(blocks(t, "## Flow exporters")[1]); !strings.Contains(both, "<->") {
		t.Errorf("no flows of both directions:\n%s", both)
	}
	got := map[string]int{}
	for line := range strings.Lines(k.cook("nfdump -R flows -q -6 -o 'fmt:%sa,%sp,%da,%dp,%pkt' 'proto tcp'")) {
		if f := strings.Split(strings.ReplaceAll(line, " ", ""), ","); len(f) == 5 {
			got[connection(f[0]+" "+f[1], f[2]+" "+f[3])] += number(t, f[4])
		}
	}
	truth := readTruth(t, "router-ordered")
	if want := truth.tcp(); !maps.Equal(got, want) {
		t.Errorf("nfpcapd counts %v, want %v", got, want)
	}
}

// TestClouds counts the flows of mirrored conversations: whole ones in one tunnel, and
// whole ones without a tunnel.
func TestClouds(t *testing.T) {
	t.Parallel()
	k, s := newKitchen(t, "python3"), scenes[1]
	k.cook(blocks(t, "## Mirrors of clouds")[0])
	whole := s.flows(t, s.capture(), "")
	truth := readTruth(t, s.name)
	whole.Packets = truth.Packets - truth.Duplicates
	for _, name := range []string{"clean.pcapng", "plain.pcapng"} {
		if got := s.flows(t, k.path(name), s.key); got != whole {
			t.Errorf("%s: %+v, want %+v", name, got, whole)
		}
		if _, err := exec.LookPath("tcpdump"); err != nil {
			t.Log("skipped: libpcap: ", err)
		} else if n := strings.Count(k.cook("tcpdump -n -t -r "+name+" 2>/dev/null"), "\n"); n < whole.Packets {
			t.Errorf("%s: libpcap reads %d packets of %d", name, n, whole.Packets)
		}
	}
	var summary struct{ Duplicates int }
	out := k.cook("flowdedup dedup --json --identity inner mirror.pcap 2>/dev/null")
	if err := json.Unmarshal([]byte(out), &summary); err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("%d of %d copies are found", summary.Duplicates, truth.Duplicates)
	if text := strings.Join(strings.Fields(page(t, "recipes.md")), " "); !strings.Contains(text, said) {
		t.Errorf("the page does not say that with checksums compared %s", said)
	}
}

// TestVoIP runs the recipe on a capture of all interfaces. A stand-in for sngrep reads the
// file that the recipe gives it: each packet is there once.
func TestVoIP(t *testing.T) {
	t.Parallel()
	k, truth := newKitchen(t), readTruth(t, "router-any-sll")
	k.cook("gzip -dc " + absolute(t, capturesDir+"/router-any-sll.pcap.gz") + " > calls.pcap")
	lines := strings.Split(blocks(t, "## VoIP")[0], "\n")
	k.cook(lines[1] + "\nsngrep() { [ \"$1\" = -I ] && cp \"$2\" read.pcap; }\n" + lines[2])
	if got, want := len(k.classic("read.pcap")), truth.Packets-truth.Duplicates; got != want {
		t.Errorf("%d packets, want %d", got, want)
	}
}

// TestCICFlowMeter runs the recipe on a capture whose interfaces come one after another. A
// stand-in reads the file that the recipe gives it: a classic pcap in the order of time.
func TestCICFlowMeter(t *testing.T) {
	t.Parallel()
	k := newKitchen(t)
	k.cook("cp " + absolute(t, capturesDir+"/router-vlan.pcapng") + " capture.pcapng")
	k.cook("cicflowmeter() { [ \"$1$3\" = -f-c ] && cp \"$2\" read.pcap; }\n" + blocks(t, "## CICFlowMeter")[0])
	if times := k.classic("read.pcap"); len(times) == 0 || !slices.IsSorted(times) {
		t.Errorf("%d packets, not in order", len(times))
	}
}

// TestDatabases runs the recipe with sqlite3, and with DuckDB and ClickHouse where they are.
// Without these, stand-ins look for the tables that the queries name, and for their columns.
func TestDatabases(t *testing.T) {
	t.Parallel()
	k := newKitchen(t, "sqlite3")
	k.cook("cp span.pcapng capture.pcapng")
	const record = `{"src_addr":"192.0.2.1","dst_addr":"198.51.100.7","src_port":4000,"dst_port":443,"proto":"TCP","bytes":960,"packets":6,` +
		`"sampler_address":"203.0.113.%d","time_flow_start_ns":1795241344828000000,"time_flow_end_ns":1795241345829000000,"type":"IPFIX"}` + "\n"
	for _, n := range []int{1, 2} {
		k.write(fmt.Sprintf("r%d.json", n), fmt.Sprintf(record, n))
	}
	recipe := blocks(t, "## Databases")
	k.cook(recipe[0])
	const standIn = "() { head -1 counts.csv | grep -q '^window_start,.*,distinct,' && grep -q '\"src_addr\".*\"bytes\"' once.ndjson; }\n"
	before := ""
	for _, name := range []string{"duckdb", "clickhouse"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Log("a stand-in: ", err)
			before += name + standIn
		}
	}
	out := k.cook(before + recipe[1])
	if n := strings.Count(out, "\n"); n != 2 || !strings.Contains(out, "2026-11-22T17:00:00") {
		t.Errorf("sqlite3 has %d rows of src and flow:\n%s", n, out)
	}
}

// TestFigures looks up the numbers of the page on copies.
func TestFigures(t *testing.T) {
	t.Parallel()
	s, text := scenes[0], page(t, "keep.md")
	for _, row := range []struct {
		written string
		args    []string
	}{
		{"`--keep first`", []string{"--keep", "first"}},
		{"`--keep flow`", nil},
		{"`--keep first --strip vlan`", []string{"--keep", "first", "--strip", "vlan"}},
	} {
		output, _ := s.dedup(t, s.capture(), row.args...)
		checkRow(t, text, row.written, s.flows(t, output, s.key))
	}
	checkRow(t, text, "as captured", s.flows(t, s.capture(), s.key))
}

func checkRow(t *testing.T, text, written string, c flowCounts) {
	t.Helper()
	row := fmt.Sprintf("| %s | %d | %d | %d |", written, c.Packets, c.tcp().TwoSided, c.tcp().OneSided)
	if !slices.Contains(strings.Split(text, "\n"), row) {
		t.Errorf("keep.md does not have %s", row)
	}
}
