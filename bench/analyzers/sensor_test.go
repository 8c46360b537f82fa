// SPDX-License-Identifier: Apache-2.0

package analyzers_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sight is a sensor's findings in a capture, by sensor.py.
type sight struct {
	Packets  int
	Valid    int // TCP and UDP packets with right checksums
	Wrong    int
	TwoSided int `json:"two_sided"` // TCP flows
	OneSided int `json:"one_sided"`
	HTTP     int // requests
	TLS      int // handshakes
}

// Ways in which sensors read: the parts of a flow, and the packets that they do not take.
var (
	asSuricata6 = []string{"--vlan", "--checksums", "--no-8021ad"}
	asSuricata  = []string{"--vlan", "--checksums"}
	asZeek      = []string{"--checksums"}
	asArkime    = []string{}
)

// The sensors that --for names. Arkime and Wireshark take packets with any checksum, and
// VLANs for no part of a session by default.
var sensors = []struct {
	name  string
	reads []string
}{{"suricata", asSuricata6}, {"zeek", asZeek}, {"arkime", asArkime}, {"wireshark", asArkime}}

// feed is a capture of the project, and how copies are found in it.
type feed struct {
	name  string
	files []string
	find  []string
	// tools means that the other programs open it, too: they know no mirrors and no
	// 802.1ad.
	tools bool
	// cut means that packets are truncated. Truncated packets that are identified only by
	// a checksum stay with --ignore l4-checksum.
	cut bool
}

var feeds = []feed{
	{"router-ordered", []string{"router-ordered.pcapng"}, nil, true, false},
	{"router-qinq", []string{"router-qinq.pcapng"}, nil, false, false},
	{"mirror-vxlan", []string{"mirror-vxlan.pcap"}, []string{"--identity", "inner", "--ignore", "l4-checksum"}, false, false},
	{"router-across", []string{"router-in.pcap", "router-out.pcap"}, []string{"--across", "--window", "50ms"}, true, false},
	{"mirror-geneve", []string{"mirror-geneve.pcap"}, []string{"--identity", "inner", "--ignore", "l4-checksum"}, false, false},
	{"router-vlan", []string{"router-vlan.pcapng"}, nil, true, false},
	{"router-plain", []string{"router-plain.pcapng"}, nil, true, false},
	{"router-snap96", []string{"router-snap96.pcapng"}, nil, true, true},
	{"router-any-sll", []string{"router-any-sll.pcap.gz"}, nil, false, false},
	{"router-any-sll2", []string{"router-any-sll2.pcap"}, nil, false, false},
	{"loopback-twice", []string{"loopback-twice.pcap"}, nil, true, false},
	{"loopback", []string{"loopback.pcap"}, nil, true, false},
	{"tunnel-raw", []string{"tunnel-raw.pcap"}, nil, false, false},
}

// quickFeeds is how many of them a run without FLOWDEDUP_READERS=all takes.
const quickFeeds = 3

// allReaders reports whether a run is to read all captures.
func allReaders() bool { return os.Getenv("FLOWDEDUP_READERS") == "all" }

// seen are answers of sensor.py, and heardOf those of other programs, by what is in a file:
// several readers' outputs are the same.
var (
	seen    answers[string, sight]
	heardOf answers[string, heard]
)

// contentOf stands for what is in a file.
func contentOf(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(content))
}

// sees returns a sensor's findings, by sensor.py.
func sees(t *testing.T, file string, reads []string) sight {
	t.Helper()
	return seen.get(contentOf(t, file)+strings.Join(reads, " "), func() (found sight) {
		askPython(t, &found, "sensor", append([]string{"sees", file}, reads...)...)
		return found
	})
}

// TestReaders judges the outputs for each reader. A sensor must find the same in an
// output as in a capture that has each packet once.
func TestReaders(t *testing.T) {
	t.Parallel()
	need(t, "tshark", "python3")
	taken := feeds
	if !allReaders() {
		taken = feeds[:quickFeeds]
	}
	for _, program := range []string{"tcptrace", "argus", "ra", "ndpiReader"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Log("skipped: ", err)
		}
	}
	rows := []string{row("capture", "written", "packets", "wrong checksums", "two-sided", "one-sided", "HTTP", "TLS", "tcptrace copies", "argus loss", "nDPI HTTP/TLS"), "|" + strings.Repeat("---|", 11)}
	judged := make([][]string, len(taken))
	t.Run("feeds", func(t *testing.T) { // which ends when all of them have
		for i := range taken {
			t.Run(taken[i].name, func(t *testing.T) {
				t.Parallel()
				judged[i] = taken[i].judge(t)
			})
		}
	})
	rows = append(rows, slices.Concat(judged...)...)
	t.Log("\n" + strings.Join(rows, "\n"))
	checkRows(t, rows)
}

// checkRows looks up the rows of the manual among the measured ones.
func checkRows(t *testing.T, rows []string) {
	t.Helper()
	if !has("tcptrace", "argus", "ra", "ndpiReader") {
		return
	}
	_, table, _ := strings.Cut(page(t, "readers.md"), "## What sensors find")
	written := 0
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		of, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if isRow && of != "capture" {
			written++
		}
		if !slices.ContainsFunc(rows, func(r string) bool { return strings.HasPrefix(r, "| "+of+" | each packet once |") }) {
			continue // from a capture that was not judged, or no row
		}
		if !slices.Contains(rows, line) {
			t.Errorf("readers.md has a row that was not measured: %s", line)
		}
	}
	if written == 0 {
		t.Error("readers.md has no rows")
	}
}

// judge judges all outputs for a capture, and returns rows of the table.
func (f *feed) judge(t *testing.T) (rows []string) {
	dir := t.TempDir()
	once := filepath.Join(dir, "once.pcap")
	var n struct{ Packets int }
	askPython(t, &n, "sensor", "once", filepath.Join(capturesDir, f.name+".truth.json"), once)
	tools := f.heard(t, once)
	print := func(written string, s sight, h heard) {
		rows = append(rows, row(f.name, written, s.Packets, s.Wrong, s.TwoSided, s.OneSided, s.HTTP, s.TLS, h.copies, h.loss, h.flows))
	}
	print("each packet once", sees(t, once, asSuricata6), tools)
	alone := filepath.Join(dir, "alone.pcap")
	askPython(t, &n, "sensor", "alone", filepath.Join(capturesDir, f.name+".truth.json"), alone)
	print("one point alone", sees(t, alone, asSuricata6), f.heard(t, alone))
	for _, file := range f.files {
		written := "as captured"
		if len(f.files) > 1 {
			written += ": " + file
		}
		file = filepath.Join(capturesDir, file)
		print(written, sees(t, file, asSuricata6), f.heard(t, file))
	}
	first := f.write(t, "--keep", "first")
	print("`--keep first`", sees(t, first, asSuricata6), f.heard(t, first))
	usual := f.write(t)
	print("default", sees(t, usual, asSuricata6), f.heard(t, usual))
	if got, want := sees(t, usual, asSuricata), sees(t, once, asSuricata); got != want {
		t.Errorf("default: Suricata finds %+v, want %+v", got, want)
	}
	for _, s := range sensors {
		kept := f.write(t, "--for", s.name)
		got, want := sees(t, kept, s.reads), sees(t, once, s.reads)
		heard := f.heard(t, kept)
		print("`--for "+s.name+"`", got, heard)
		if f.cut && got.Packets >= want.Packets {
			got.Packets = want.Packets
		}
		if got != want {
			t.Errorf("--for %s: it finds %+v, want %+v", s.name, got, want)
		}
		if heard != tools {
			t.Errorf("--for %s: other programs find %+v, want %+v", s.name, heard, tools)
		}
	}
	return rows
}

// write removes the copies of a capture, and returns the file.
func (f *feed) write(t *testing.T, args ...string) string {
	t.Helper()
	output := filepath.Join(t.TempDir(), "kept.pcapng")
	if f.tools {
		output = filepath.Join(filepath.Dir(output), "kept.pcap") // which these programs read
	}
	args = append([]string{"dedup", "-q", "-w", output}, args...)
	for _, file := range f.files {
		args = append(args, filepath.Join(capturesDir, file))
	}
	command(t, flowdedup, append(args, f.find...)...)
	return output
}

// heard is other programs' findings in a capture; "-" without them.
type heard struct{ copies, loss, flows string }

// heard asks the other programs.
func (f *feed) heard(t *testing.T, file string) heard {
	t.Helper()
	if !f.tools {
		return heard{"-", "-", "-"}
	}
	return heardOf.get(contentOf(t, file), func() heard { return askTools(t, file) })
}

// askTools asks the programs that are there.
func askTools(t *testing.T, file string) heard {
	t.Helper()
	h := heard{"-", "-", "-"}
	if has("tcptrace") {
		h.copies = sumOf(t, duplicates, command(t, "tcptrace", "-nl", file))
	}
	if has("argus", "ra") {
		records := filepath.Join(t.TempDir(), "argus")
		command(t, "argus", "-J", "-r", file, "-w", records)
		h.loss = sumOf(t, numbers, command(t, "ra", "-n", "-L", "-1", "-r", records, "-s", "loss", "-", "tcp"))
	}
	if has("ndpiReader") {
		h.flows = protocols(t, command(t, "ndpiReader", "-i", file))
	}
	return h
}

// has reports whether all programs are there.
func has(programs ...string) bool {
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			return false
		}
	}
	return true
}

var (
	// duplicates and retransmissions in the output of tcptrace
	duplicates = regexp.MustCompile(`detected (\d+) hardware duplicate|rexmt data pkts: +(\d+) +rexmt data pkts: +(\d+)`)
	numbers    = regexp.MustCompile(`(\d+)`)
	// flows of a protocol in the output of ndpiReader
	protocol = regexp.MustCompile(`(?m)^\t(\S+) +packets: \d+ +bytes: \d+ +flows: (\d+)`)
)

// sumOf adds the numbers that an expression finds.
func sumOf(t *testing.T, of *regexp.Regexp, printed []byte) string {
	t.Helper()
	sum := 0
	for _, found := range of.FindAllSubmatch(printed, -1) {
		for _, group := range found[1:] {
			if len(group) > 0 {
				sum += number(t, string(group))
			}
		}
	}
	return fmt.Sprint(sum)
}

// protocols returns how many flows are HTTP, and how many TLS.
func protocols(t *testing.T, printed []byte) string {
	t.Helper()
	flows := map[string]int{}
	for _, found := range protocol.FindAllSubmatch(printed, -1) {
		flows[string(found[1])] = number(t, string(found[2]))
	}
	return fmt.Sprintf("%d/%d", flows["HTTP"], flows["TLS"])
}

// row returns a row of a table.
func row(cells ...any) string {
	text := "|"
	for _, cell := range cells {
		text += fmt.Sprintf(" %v |", cell)
	}
	return text
}
