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
	"test support":                    {7262, 377, 0, "tests that share streams, captures and commands"},
	"..":                              {350, 380, 0, "the calls that programs look for first"},
	"asm":                             {9050, 8240, 10630, "verdicts and digests at the speed of memory, on amd64 and arm64"},
	"layout":                          {1082, 420, 0, "filters whose elements take one cache miss"},
	"engine":                          {1752, 607, 0, "contracts, snapshots and secrets of filters"},
	"engine/calendar":                 {953, 1279, 0, "windows by the clock, and one policy for wrong clocks"},
	"engine/window":                   {3532, 3244, 0, "copies within a window"},
	"engine/stream":                   {1162, 1070, 0, "copies in an endless stream, by the papers' methods in lines"},
	"engine/distinct":                 {6000, 4071, 0, "counts of distinct keys, exact or in bounded memory"},
	"engine/sliding":                  {1241, 777, 0, "counts of the past hour, at any time"},
	"engine/sizing":                   {2376, 1103, 0, "predictions and memory for plan"},
	"engine/paper":                    {3032, 1866, 0, "the papers' filters as printed"},
	"engine/theory":                   {2845, 1365, 0, "the papers' formulas, and bounds of filters"},
	"engine/hubclient":                {2573, 1832, 0, "a site's side of the hub: bundles, and a way up that is no ring"},
	"engine/cluster":                  {11937, 13272, 0, "the hub: copies among sites"},
	"capture":                         {11890, 9748, 0, "contracts of sources, batches and writers; what sources share; rotated files whose failures are never forgotten"},
	"capture/certs":                   {270, 357, 0, "renewed certificates count without a restart; one reader of their files, the hub's too"},
	"capture/pcapfile":                {5870, 5967, 0, "capture files of all kinds, read and written"},
	"capture/afpacket":                {2462, 2697, 0, "live capture on Linux"},
	"capture/xdp":                     {1930, 1333, 0, "live capture by AF_XDP, whose queues and MTU may change"},
	"capture/mirror":                  {1354, 1303, 0, "mirrored packets of switches and clouds"},
	"capture/records":                 {5736, 4400, 0, "flow records: NetFlow, IPFIX, sFlow, text"},
	"capture/headers":                 {5776, 2385, 0, "headers and tunnels of packets"},
	"capture/identity":                {2067, 2844, 0, "what makes two packets the same"},
	"capture/keys":                    {1091, 1058, 0, "addresses and flows that are counted"},
	"capture/traits":                  {2494, 2588, 0, "where a packet was seen, and what differs"},
	"capture/reassemble":              {836, 456, 0, "tunnels in fragments"},
	"capture/dedup":                   {3325, 3984, 0, "packets meet filters; which copy stays"},
	"capture/inspect":                 {3898, 1576, 0, "what a capture holds"},
	"capture/compare":                 {2252, 1367, 0, "two captures against each other"},
	"capture/verify":                  {1883, 903, 0, "a check of what dedup did, by other code, in bounded memory"},
	"cmd/flowdedup":                   {2891, 1078, 0, "pages, settings, web server and versions of the command"},
	"cmd/flowdedup/doc":               {951, 999, 0, "the manual: generated pages, and tests of what it says"},
	"cmd/flowdedup/contrib":           {1841, 2788, 0, "packages, services and checks of releases"},
	"cmd/flowdedup/internal":          {9894, 8959, 0, "what commands share: flags, inputs, outputs, texts; what is truncated, held against an oracle"},
	"cmd/flowdedup/internal/compare":  {1036, 384, 0, "the command compare"},
	"cmd/flowdedup/internal/dedup":    {2771, 3840, 0, "the command dedup"},
	"cmd/flowdedup/internal/distinct": {1866, 2088, 0, "the command distinct"},
	"cmd/flowdedup/internal/flows":    {6062, 4385, 0, "the command flows"},
	"cmd/flowdedup/internal/inspect":  {1240, 916, 0, "the command inspect"},
	"cmd/flowdedup/internal/live":     {3704, 6371, 0, "the command live"},
	"cmd/flowdedup/internal/plan":     {1492, 830, 0, "the command plan"},
	"cmd/flowdedup/internal/verify":   {670, 232, 0, "the command verify, which finds out the flags of a run that it was not told"},
	"bench":                           {5828, 9305, 0, "the project judged from outside: speed, accuracy, faults"},
	"bench/papers":                    {9892, 2927, 0, "the papers' tables and figures, made again; predictions of their filters"},
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
