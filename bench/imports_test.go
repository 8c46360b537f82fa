// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/flowdedup/flowdedup/"

// layers lists, for each package or folder of packages, the parts of the project that it
// may import. Imports run in one direction only.
var layers = map[string][]string{
	// The face of the library: nothing of the project imports it.
	face:           {"capture", "engine", "asm/digest"},
	"layout":       {},
	"asm":          {"asm/internal"},
	"asm/internal": {"asm/internal", "layout"},
	"asm/digest":   {"asm/internal"},
	"asm/permute":  {"asm/internal", "layout"},
	"asm/signs":    {"asm/internal"},
	"asm/headers":  {"asm/internal", "asm/digest", "asm/frames"},
	"asm/frames":   {"asm/internal", "asm/digest"},
	"asm/line":     {"asm/internal", "asm/digest", "layout"},
	// The contracts of filters; a name that ends with a dot is a package without the ones
	// below it.
	"engine":                           {"asm"},
	"engine/window":                    filters,
	"engine/stream":                    filters,
	"engine/distinct":                  filters,
	"engine/distinct/internal/wordset": {},
	"engine/distinct/countfile":        {"engine.", "engine/distinct", "engine/distinct/internal/wordset"},
	"engine/distinct/windows":          {"engine", "asm"},
	"engine/sliding":                   filters,
	"engine/hubclient":                 {"engine/calendar", "asm"},
	"engine/hubclient/natslink":        {"engine/hubclient"},
	"engine/snapshot":                  {"engine.", "engine/internal/mem", "layout", "asm"},
	"engine/internal":                  {"engine.", "engine/internal", "layout", "asm"},
	"engine/internal/check":            {"engine.", "engine/calendar", "engine/internal/bitset", "engine/snapshot", "asm"},
	"engine/internal/rowtable":         {"engine/internal/bitset", "engine/snapshot", "layout", "asm"},
	// Both sides of a run follow times: the calendar knows of neither.
	"engine/calendar": {},
	"engine/paper":    {"engine/theory", "layout", "asm"},
	"engine/theory":   {},
	"engine/sizing":   {"engine/theory", "engine", "layout", "asm"},
	// Tests of predictions, here and of the papers' models.
	"engine/sizing/sizingtest": {"engine.", "asm/digest"},
	// The contracts know nothing of files.
	"capture":                             {"capture/internal/encoding"},
	"capture/internal/encoding":           {},
	"capture/internal/sockets":            {"capture."},
	"capture/internal/backlog":            {"capture."},
	"capture/internal/fragments":          {},
	"capture/compressed":                  {"capture."},
	"capture/outfile":                     {},
	"capture/pcapfile":                    {"capture", "capture/compressed", "capture/internal/encoding", "capture/outfile", "asm/frames"},
	"capture/certs":                       {"capture/outfile"},
	"capture/certs/certstest":             {"capture/certs."},
	"capture/pcapoverip":                  {"capture", "capture/pcapfile"},
	"capture/mirror":                      {"capture", "capture/headers", "capture/afpacket", "capture/internal/encoding", "capture/internal/sockets"},
	"capture/records":                     {},
	"capture/records/internal/exporttest": {"capture.", "capture/internal/encoding", "capture/records."},
	"capture/records/internal":            {},
	"capture/records/export":              {"capture", "engine/calendar", "capture/headers", "capture/internal/encoding", "capture/records.", "capture/records/internal"},
	"capture/records/relay":               {"capture/records."},
	// It remembers which exporters reported flows.
	"capture/records/match": {"capture/records.", "engine.", "engine/calendar", "engine/snapshot", "layout", "asm"},
	"capture/rotate":        {"capture", "capture/pcapfile", "capture/outfile", "engine/calendar"},
	// Packages that only tests use.
	"capture/internal": {"capture"},
	"capture/bpf":      {"capture"},
	// Readers of headers know nothing of identities, and neither of keys.
	"capture/internal/iana":      {},
	"capture/internal/enum":      {},
	"capture/internal/frametest": {"capture.", "capture/internal/iana", "capture/pcapfile"},
	"capture/headers":            {"capture.", "capture/internal/enum", "capture/internal/iana", "asm/digest", "asm/frames", "asm/headers"},
	"capture/identity":           {"capture.", "capture/headers", "capture/internal/enum", "capture/internal/iana", "asm"},
	"capture/keys":               {"capture.", "capture/headers", "capture/internal/enum", "capture/internal/fragments", "capture/internal/iana", "asm"},
	"capture/traits":             {"capture", "engine/calendar", "layout", "asm"},
	// It remembers more of a packet than filters do.
	"cmd/flowdedup/internal/analysis/inspect": {"capture", "engine/calendar", "layout", "asm"},
	"capture/compare":                         {"capture", "engine/calendar", "asm"},
	// It shares only the reading and the identity with the code that it checks.
	"cmd/flowdedup/internal/analysis/verify": {"capture", "engine/calendar", "asm/digest"},
	"capture/strip":                          {"capture"},
	"capture/reassemble":                     {"capture.", "capture/headers", "capture/internal"},
	"capture/hold":                           {"capture.", "capture/identity", "capture/internal/backlog", "capture/traits", "engine/calendar", "layout", "asm"}, // no filter
	junction:                                 {"capture", "engine", "layout", "asm"},
	"capture/gopackets":                      {"capture"},
	"capture/pipeline":                       {"capture"},
	"capture/afpacket":                       {"capture", "capture/internal/encoding", "capture/internal/sockets"},
	"capture/xdp":                            {"capture", "capture/afpacket", "capture/bpf", "capture/internal/sockets"},
	"cmd":                                    {"capture", "engine", "layout", "asm", "cmd"},
	// Packages that the command and the hub, a separate module, share.
	"cmd/flowdedup/page":            {"engine/calendar"}, // its axes have round times as windows do
	"cmd/flowdedup/once":            {},
	"cmd/flowdedup/help":            {},
	"cmd/flowdedup/settings":        {},
	"cmd/flowdedup/web":             {},
	"cmd/flowdedup/web/metricstest": {"cmd/flowdedup/web"},
	"cmd/flowdedup/version":         {},
	"cmd/flowdedup/doc/man/roff":    {"cmd/flowdedup/help"},
	// A command's folder imports no other one, nor the root.
	"cmd/flowdedup/internal/compare":    room,
	"cmd/flowdedup/internal/dedup":      room,
	"cmd/flowdedup/internal/distinct":   room,
	"cmd/flowdedup/internal/extcap":     room,
	"cmd/flowdedup/internal/flows":      append([]string{"cmd/flowdedup/internal/flows"}, room...),
	"cmd/flowdedup/internal/flows/text": {"asm/signs", "capture.", "engine/calendar", "capture/records."},
	"cmd/flowdedup/internal/inspect":    room,
	"cmd/flowdedup/internal/live":       append([]string{"cmd/flowdedup/internal/dedup"}, room...), // it removes copies, too
	"cmd/flowdedup/internal/plan":       room,
	"cmd/flowdedup/internal/verify":     room,
	"cmd/flowdedup/internal/count":      {"capture", "engine", "asm", "cmd/flowdedup/internal/show", "cmd/flowdedup/internal/sink", "cmd/flowdedup/version"},
	// Packages that only tests import.
	"cmd/flowdedup/internal/clitest": {"cmd", "capture", "engine/hubclient", "bench/lab"},
	"bench/lab/wait":                 {},
	"bench/lab/goflow":               {},
	"bench":                          {"capture", "engine", "layout", "asm", "bench"},
	"bench/papers/chart":             {},
	"bench/workload":                 {"bench", "layout"},
	"bench/lab":                      {"bench/lab/wait"},
	"bench/lab/labtest":              {"bench/lab", "capture.", "capture/pcapfile"},
	"bench/zipf":                     {},
}

// junction is where packets meet filters: the one package below capture that imports
// engine. Only its wrappers there may import it, so that programs that only read packets
// have no filter.
const junction = "capture/dedup"

var junctionUsers = []string{face, "capture/gopackets", "cmd", "bench"}

// face is the package at the root of the module.
const face = "."

// room is the packages that the folder of a command may import.
var room = []string{
	"capture", "engine", "layout", "asm", "cmd/flowdedup/page", "cmd/flowdedup/version", "cmd/flowdedup/web",
	"cmd/flowdedup/internal/analysis", "cmd/flowdedup/internal/cli", "cmd/flowdedup/internal/count", "cmd/flowdedup/internal/input", "cmd/flowdedup/internal/method",
	"cmd/flowdedup/internal/monitor", "cmd/flowdedup/internal/show", "cmd/flowdedup/internal/sink", "cmd/flowdedup/internal/verdict",
}

// filters is the packages that the filters of each subject may import: not each other.
var filters = []string{
	"engine.", "engine/calendar", "engine/internal", "engine/snapshot", "engine/theory", "layout", "asm",
}

// TestImports keeps packages apart that must not know each other.
func TestImports(t *testing.T) {
	list := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...")
	list.Env = withPapers(t)
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		name, _ := inModule(words[0])
		allowed, ok := layers[longest(name)]
		if !ok {
			t.Errorf("%s is in no layer", name)
			continue
		}
		for _, imported := range words[1:] {
			within, ours := inModule(imported)
			if ours && (!covers(allowed, within) || within == junction && !covers(junctionUsers, name)) {
				t.Errorf("%s imports %s", name, within)
			}
		}
	}
}

// inModule returns the path of a package below the module, face for its root, and whether it
// belongs to the module.
func inModule(path string) (string, bool) {
	within, ours := strings.CutPrefix(path+"/", module)
	return cmp.Or(strings.TrimSuffix(within, "/"), face), ours
}

// TestCommandIsLight keeps heavy libraries out of the command: gonum weighs 7 MB there and
// 1 ms at each start, protobuf with client_golang 2.5 MB and 1 ms, html/template 3 MB.
func TestCommandIsLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"cmd/flowdedup").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.Lines(string(out)) {
		for _, heavy := range []string{"gonum.org/", "google.golang.org/protobuf", "github.com/prometheus/", "html/template"} {
			if strings.HasPrefix(name, heavy) {
				t.Errorf("the command needs %s", strings.TrimSpace(name))
			}
		}
	}
}

// longest returns the longest key of layers that name lies in.
func longest(name string) string {
	best := ""
	for key := range layers {
		if len(key) > len(best) && covers([]string{key}, name) {
			best = key
		}
	}
	return best
}

// covers reports whether name is one of the packages or lies below one.
func covers(packages []string, name string) bool {
	for _, p := range packages {
		if name+"." == p || name == p || strings.HasPrefix(name, p+"/") {
			return true
		}
	}
	return false
}
