// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// speed is a page's figure of speed or of what something costs.
var speed = regexp.MustCompile(`(?m)[0-9][0-9,.]* (?:ns|µs|microseconds?)(?: of CPU)? (?:an? |more\b)` + // of a packet
	`|(?:takes|costs?) [0-9][0-9,.]* (?:ns|µs)` +
	`|[0-9][0-9,.]* (?:million|M)(?: packets| digests)?(?:/s| an? (?:CPU )?second)` +
	`|[0-9][0-9,.]* (?:%|times) (?:more|less|of the|the) (?:CPU|time)\b` +
	`|[0-9][0-9,.]* (?:times )?(?:faster|slower)\b` +
	`|^\|.*\x60(?: \([^)]*\))? \| [0-9][0-9,.]*(?: s \|.*)? \|$`) // a row of a table

// cited are the figures that pages take from the newest section of bench/RESULTS.md. The last
// number of the text is the number in the row and the column of the table under a heading.
var cited = []struct{ page, text, table, row, column string }{
	{"README.md", "| `flowdedup dedup $IN --workers 0` (2 threads) | 31.4 |", small, "flowdedup dedup $IN --workers 0", rate},
	{"README.md", "| `flowdedup dedup $IN --workers 1` | 17.8 |", small, "flowdedup dedup $IN --workers 1", rate},
	{"README.md", "| `flowdedup dedup $IN -w out/clean.pcap --workers 0` | 14.9 |", small, "flowdedup dedup $IN -w out/clean.pcap --workers 0", rate},
	{"README.md", "| `editcap -w 0.001 -F nsecpcap $IN /dev/null` (200,000 packets) | 1.20 |", small, "editcap -w 0.001 -F nsecpcap $IN /dev/null", rate},
	{"README.md", "| `tcpdump -r $IN -w /dev/null` | 6.95 |", small, "tcpdump -r $IN -w /dev/null", rate},
	{"README.md", "| `flowdedup distinct --of src,dst,flow $IN --workers 0` | 25.3 |", small, "flowdedup distinct --of src,dst,flow $IN --workers 0", rate},
	{"README.md", "| `flowdedup distinct --of src,dst,flow $IN --workers 1` | 15.4 |", small, "flowdedup distinct --of src,dst,flow $IN --workers 1", rate},
	{"README.md", "| `nfpcapd`, then `nfdump -A` for each key | 0.68 |", small, "mkdir out/flows && nfpcapd -r $IN", rate},
}

const (
	small = "#### Frames of 64 bytes\n"
	rate  = "million/s"
)

// elsewhere are figures that RESULTS.md does not have, and what measures them: a benchmark
// of a folder, or a suite of bench/bench.sh.
var elsewhere = []struct{ page, text, by string }{
	{"cmd/flowdedup/doc/xdp.md", "64 MiB hold 32,768 packets, 8 ms at 4 million a second", ""},                                             // by division
	{"README.md", "| `tshark -q -z conv,tcp` | 6.9 s | 4.1 s |\n| `ndpiReader -q` | 3.7 s | 2.1 s |\n| `nfpcapd` | 0.42 s | 0.34 s |", ""}, // by commands in the table
	{"cmd/flowdedup/doc/distinct.md", "50 ns a key and sensor (`make bench SUITE=merge`)", "merge"},
	{"cmd/flowdedup/doc/hub.md", "One core of a hub takes 61 ns a digest, 16 million a second", "engine/cluster BenchmarkHubCore"},
	{"cmd/flowdedup/doc/hub-layouts.md", "2.3 to 2.5 times the CPU of one hub", "engine/cluster/hub BenchmarkTree"},
	{"cmd/flowdedup/doc/network.md", "A datagram costs 0.70 µs of CPU", "capture/mirror BenchmarkReceive"},
}

// TestFigures compares cited figures with the newest section of bench/RESULTS.md, whose CPU
// the README names.
func TestFigures(t *testing.T) {
	newest := newestResults(t)
	cpu, _, _ := strings.Cut(newest, "\n")
	if !strings.Contains(oneLine(read(t, "../../../README.md")), cpu) {
		t.Errorf("the README does not name the CPU of the newest results, %s", cpu)
	}
	for _, c := range cited {
		if !strings.Contains(read(t, filepath.Join(root, c.page)), c.text) {
			t.Errorf("%s does not cite %q", c.page, c.text)
		}
		want, err := cell(newest, c.table, c.row, c.column)
		if numbers := number.FindAllString(c.text, -1); err != nil || numbers[len(numbers)-1] != want {
			t.Errorf("%s cites %q, bench/RESULTS.md has %s: %v", c.page, c.text, want, err)
		}
	}
}

// TestFiguresListed wants every figure of speed in the README and the manual to be listed.
func TestFiguresListed(t *testing.T) {
	found := 0
	for _, page := range speedPages(t) {
		text := read(t, filepath.Join(root, page))
		for _, at := range speed.FindAllStringIndex(text, -1) {
			found++
			if !listed(page, text, at) {
				t.Errorf("%s has %q, which neither bench/RESULTS.md has nor another measurement", page, text[at[0]:at[1]])
			}
		}
	}
	if found < len(cited) {
		t.Errorf("only %d figures found", found)
	}
	for _, e := range elsewhere {
		if !strings.Contains(read(t, filepath.Join(root, e.page)), e.text) {
			t.Errorf("%s does not have %q", e.page, e.text)
		}
		if e.by != "" && !measures(t, e.by) {
			t.Errorf("%s: nothing is named %s", e.page, e.by)
		}
	}
}

// TestCell reads tables as the report writes them.
func TestCell(t *testing.T) {
	page := "CPU\n\n#### One\n\n| job | command | s |\n|---|---:|---:|\n| a | `x y \\| z` | 1.5 |\n|  | `x` | 2 |\n\n#### Two\n\n| job | s |\n|---|---:|\n| `x` | 3 |\n"
	for _, c := range []struct{ table, row, column, want string }{
		{"#### One\n", "x", "s", "2"}, {"#### One\n", "x y", "s", "1.5"}, {"#### Two\n", "x", "s", "3"},
		{"#### Two\n", "y", "s", ""}, {"#### Two\n", "x", "command", ""}, {"#### Three\n", "x", "s", ""},
	} {
		if got, err := cell(page, c.table, c.row, c.column); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

var number = regexp.MustCompile(`[0-9][0-9,.]*`)

// newestResults returns the first section of bench/RESULTS.md about a CPU, from its name on.
func newestResults(t *testing.T) string {
	t.Helper()
	sections := strings.Split(read(t, filepath.Join(root, "bench/RESULTS.md")), "\n## ")
	if len(sections) < 3 || !strings.HasPrefix(sections[1], "Contest\n") {
		t.Fatal("bench/RESULTS.md does not have the contest, and then a CPU")
	}
	return sections[2]
}

// cell returns what the table under a heading has in a column of the first row with a command
// that is, or else begins with, the text.
func cell(page, heading, command, column string) (string, error) {
	_, table, ok := strings.Cut(page, "\n"+heading)
	if !ok {
		return "", fmt.Errorf("no %q", heading)
	}
	table, _, _ = strings.Cut(table, "\n#")
	_, table, _ = strings.Cut(table, "\n|")
	lines := strings.Split(table, "\n")
	at := slices.Index(cells(lines[0]), column)
	for _, exact := range []string{"`" + command + "`", "`" + command + " "} {
		for _, line := range lines[1:] {
			row := cells(line)
			here := slices.ContainsFunc(row, func(text string) bool { return strings.HasPrefix(text, exact) })
			if here && at >= 0 && at < len(row) {
				return row[at], nil
			}
		}
	}
	return "", fmt.Errorf("no row %q with %q", command, column)
}

// cells divides a row. A bar within a cell is written with a backslash.
func cells(line string) []string {
	var all []string
	for _, text := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ") {
		all = append(all, strings.TrimSpace(text))
	}
	return all
}

// speedPages are the README and the pages of the manual that are written by hand. What
// changed between versions stays as it was.
func speedPages(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.md")
	if err != nil || len(names) < 20 {
		t.Fatal(names, err)
	}
	pages := []string{"README.md"}
	for _, name := range names {
		if name != "changes.md" {
			pages = append(pages, "cmd/flowdedup/doc/"+name)
		}
	}
	return pages
}

// listed reports whether a figure lies in a text of the lists.
func listed(page, text string, figure []int) bool {
	within := func(p, part string) bool {
		at := strings.Index(text, part)
		return p == page && at >= 0 && at <= figure[0] && figure[1] <= at+len(part)+len(" |")
	}
	for _, c := range cited {
		// A row begins with its job.
		if within(c.page, c.text) || c.page == page && strings.HasSuffix(text[figure[0]:figure[1]], c.text) {
			return true
		}
	}
	for _, e := range elsewhere {
		if within(e.page, e.text) {
			return true
		}
	}
	return false
}

// measures reports whether there is such a benchmark, or a suite.
func measures(t *testing.T, by string) bool {
	t.Helper()
	folder, name, ok := strings.Cut(by, " ")
	if !ok {
		return strings.Contains(read(t, filepath.Join(root, "bench/bench.sh")), "\n"+by+")\n")
	}
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "\nfunc "+name+"(")
	})
}

// oneLine puts a text that is broken into lines on one.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
