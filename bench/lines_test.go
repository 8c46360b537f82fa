// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// budget is the lines that a subject may have: of its program, of its tests and their scripts, and
// in assembly.
type budget struct {
	code, tests, asm int
	gives            string // what users get for them
}

// support is the subject of packages that only tests import, whose names end with "test".
const support = "test support"

// budgets are for the folders of subjects, without the folders that are subjects of their own.
// Numbers fall. Who raises one says in its line what users get for it.
var budgets = map[string]budget{
	"test support":       {8334, 377, 0, "tests that share streams, captures and commands; scripts of command lines; one table that every filter is a row of"},
	"..":                 {350, 380, 0, "the calls that programs look for first"},
	"asm":                {8824, 8401, 10845, "verdicts and digests at the speed of memory, on amd64 and arm64; structure of text, AES and POLYVAL without their instructions; tunnels of IPv4 first; tunnels four at a time with AVX2; records of pcap files by a kernel"},
	"layout":             {1203, 529, 0, "filters whose elements take one cache miss; functions that papers and hub share; huge pages of the system; tables that grow in place"},
	"engine":             {1781, 615, 0, "contracts, snapshots and secrets of filters; caches of the machine asked late"},
	"engine/calendar":    {962, 1279, 0, "windows by the clock, and one policy for wrong clocks"},
	"engine/window":      {3670, 3018, 0, "copies within a window; mutants killed; an index that grows in order; exact windows whose index stays in the caches"},
	"engine/stream":      {1170, 931, 0, "copies in an endless stream, by the papers' methods in lines"},
	"engine/distinct":    {6631, 4471, 0, "counts of distinct keys, exact or in bounded memory; counters that serve again; the top elements of a window; short windows, changes and IPv6 in less time; windows of a few packets in a few lines"},
	"engine/sliding":     {1251, 777, 0, "counts of the past hour, at any time"},
	"engine/sizing":      {2478, 1221, 0, "predictions and memory for plan; rates of real streams, by running the filter on a sample; busy members sampled"},
	"engine/paper":       {3024, 1753, 0, "the papers' filters as printed; any node of a tree in slices"},
	"engine/theory":      {1469, 732, 0, "formulas that programs need, and bounds of filters"},
	"engine/hubclient":   {2637, 1978, 0, "a site's side of the hub: bundles, and a way up that is no ring; requests sent without a timer; late answers have a slice asked again"},
	"engine/cluster":     {11937, 13505, 0, "the hub: copies among sites; mutants killed; a check of settings; limits of slices held; costs of a hub measured"},
	"capture":            {12026, 9935, 0, "contracts of sources, batches and writers; what sources share; rotated files whose failures are never forgotten; outputs that are folders; examples of parts; swapped lengths known of a file"},
	"capture/certs":      {270, 357, 0, "renewed certificates count without a restart; one reader of their files, the hub's too"},
	"capture/pcapfile":   {5978, 6092, 0, "capture files of all kinds, read and written; many files written in turn; sorted captures sorted without a heap; batches in order that leave whole; packets without a time get the time before"},
	"capture/afpacket":   {2655, 2807, 0, "live capture on Linux; sent packets left out on old kernels; frames to a veth through AF_XDP"},
	"capture/xdp":        {1930, 1333, 0, "live capture by AF_XDP, whose queues and MTU may change"},
	"capture/mirror":     {1368, 1340, 0, "mirrored packets of switches and clouds; fewer wake-ups"},
	"capture/records":    {5558, 4487, 0, "flow records: NetFlow, IPFIX, sFlow, text; observation points; mutants killed"},
	"capture/headers":    {5671, 2385, 0, "headers and tunnels of packets"},
	"capture/identity":   {2115, 2877, 0, "what makes two packets the same; mutants killed; masks without branches"},
	"capture/keys":       {1211, 1119, 0, "addresses and flows that are counted; fragments that come before their first"},
	"capture/traits":     {2730, 2743, 0, "where a packet was seen, and what differs; lists of what was removed; copies described without hashing, tagged and routed ones too; marks whose memory fits the caches"},
	"capture/reassemble": {847, 493, 0, "tunnels in fragments"},
	"capture/dedup":      {1721, 2513, 0, "packets meet filters; which copy stays; numbers of a run in one place; mutants killed; one result for any number of workers"},
	"capture/hold":       {1558, 1566, 0, "which of equal packets stays; mutants killed"},
	"cmd/flowdedup/internal/analysis/inspect": {3867, 1602, 0, "what a capture holds; numbers of a run in one place; trials that do not depend on the key of a run; look-ups that wait for no earlier packets"},
	"capture/compare":                         {2416, 1503, 0, "two captures against each other; conversations found by their equals; equal packets matched without records; offsets that bursts and wrong times do not mislead"},
	"cmd/flowdedup/internal/analysis/verify":  {2009, 1062, 0, "a check of what dedup did, by other code, in bounded memory; a folder against a folder; merged outputs of old packet blocks; refreshed windows across points; originals that were copies too; packets as the output has them"},
	"cmd/flowdedup":                           {3169, 1228, 0, "pages, settings, web server and versions of the command; pages whose marks say their numbers; a token for who asks; pages for narrow screens"},
	"cmd/flowdedup/doc":                       {804, 1088, 0, "the manual: generated pages, and tests of what it says; figures held; each flag and each field once"},
	"cmd/flowdedup/contrib":                   {1841, 2848, 0, "packages, services and checks of releases; pages of a release held; the browser page in a window that changes"},
	"cmd/flowdedup/internal":                  {10791, 8665, 0, "what commands share: flags, inputs, outputs, texts; what is truncated, held against an oracle; folders cleaned one to one, lists of removed packets; tables without rows in one place; live --check; who sent most; hints for 50 more habits, and captures that text would replace; commands made when they are used; windows that share their memory; warnings in one order, whatever workers do; one result of -c for any readers"},
	"cmd/flowdedup/internal/compare":          {1048, 304, 0, "the command compare; captures side by side"},
	"cmd/flowdedup/internal/dedup":            {2938, 2952, 0, "the command dedup; folders cleaned one to one"},
	"cmd/flowdedup/internal/distinct":         {2049, 1838, 0, "the command distinct; whole windows compared; who sent most"},
	"cmd/flowdedup/internal/flows":            {6117, 4278, 0, "the command flows; text in 64 bytes at a time"},
	"cmd/flowdedup/internal/inspect":          {1091, 571, 0, "the command inspect; the command that checks the output"},
	"cmd/flowdedup/internal/live":             {3741, 6512, 0, "the command live; a check of settings; rankings; states saved behind packets; answers of a hub that wake the capture; ports and rights checked"},
	"cmd/flowdedup/internal/plan":             {1416, 718, 0, "the command plan"},
	"cmd/flowdedup/internal/verify":           {725, 168, 0, "the command verify, which finds out the flags of a run that it was not told; folders, and what to do; copies of packets that were replaced; merged outputs of old packet blocks"},
	"bench":                                   {6598, 9646, 0, "the project judged from outside: speed, accuracy, faults; flows and options timed; look-ups counted for days; an hour at a million packets a second with an account of each"},
	"bench/papers":                            {11196, 3789, 0, "the papers' tables and figures, made again; predictions of their filters; figure 9 of jumping windows, lists of URLs; the forms of the papers, and table 5 at full size; formulas that only they need"},
}

// spare is how many lines below its budget a subject may be before the budget falls.
const spare = 60

// TestLines holds subjects to their lines.
func TestLines(t *testing.T) {
	lines := map[string]*budget{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "node_modules" || path == "../dist" || name[0] == '.' && path != ".."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".s") && filepath.Ext(name) != ".txtar",
			filepath.Ext(name) != ".txtar" && strings.Contains(filepath.ToSlash(path), "/testdata/"):
			return nil
		}
		text, err := os.ReadFile(path)
		subject := subjectOf(filepath.ToSlash(filepath.Dir(path)))
		if lines[subject] == nil {
			lines[subject] = &budget{}
		}
		n := bytes.Count(text, []byte("\n"))
		switch {
		case strings.HasSuffix(name, ".s"):
			lines[subject].asm += n
		case isTest(name), strings.HasSuffix(name, ".txtar"):
			lines[subject].tests += n
		default:
			lines[subject].code += n
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for subject, got := range lines {
		most, found := budgets[subject]
		if !found || most.gives == "" {
			t.Errorf("%s is no subject of bench/lines_test.go that says what users get for it", subject)
		}
		for what, n := range map[string][2]int{"program": {got.code, most.code}, "tests": {got.tests, most.tests}, "assembly": {got.asm, most.asm}} {
			switch {
			case n[0] > n[1]:
				t.Errorf("%s of %s: %d lines, budget %d: find what it no longer needs, or raise the number in bench/lines_test.go to %[3]d and say in its line what users get for it",
					what, subject, n[0], n[1])
			case n[0] < n[1]-spare:
				t.Errorf("%s of %s: %d lines, budget %d: lower the number in bench/lines_test.go to %[3]d", what, subject, n[0], n[1])
			}
		}
	}
	for subject := range budgets {
		if lines[subject] == nil {
			t.Errorf("there is no %s", subject)
		}
	}
}

// subjectOf returns the subject of a folder.
func subjectOf(folder string) string {
	folder = strings.TrimPrefix(folder, "../")
	if strings.HasSuffix(folder, "test") || folder == "engine/internal/check" {
		return support
	}
	for {
		if _, found := budgets[folder]; found || !strings.Contains(folder, "/") {
			return folder
		}
		folder = folder[:strings.LastIndex(folder, "/")]
	}
}
