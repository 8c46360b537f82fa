// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/doc/man/roff"
)

var update = flag.Bool("update", false, "write the page of flags instead of checking it")

// TestFlagsPage checks that the page of flags agrees with the program.
func TestFlagsPage(t *testing.T) {
	const name = "../flags.md"
	if *update {
		if err := os.WriteFile(name, []byte(flagsPage()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != flagsPage() {
		t.Error("flags.md is not that of the program: go test ./cmd/flowdedup/doc/man -update")
	}
}

// rendered writes all pages into a folder.
func rendered(t *testing.T) (names []string) {
	t.Helper()
	folder := t.TempDir()
	if err := write(folder, ".."); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestLint runs the installed formatters, which must not complain.
func TestLint(t *testing.T) {
	found := false
	for _, command := range [][]string{
		{"groff", "-t", "-k", "-man", "-ww", "-Wbreak", "-Tutf8", "-"}, // names in tables may be wider than columns
		{"mandoc", "-T", "lint", "-W", "warning"},
	} {
		if _, err := exec.LookPath(command[0]); err != nil {
			continue
		}
		found = true
		for _, name := range rendered(t) {
			var complaints bytes.Buffer
			cmd := exec.Command(command[0], append(command[1:], name)...)
			cmd.Stderr = &complaints
			if command[0] == "mandoc" {
				cmd.Stdout = &complaints
			} else {
				cmd.Stdin = strings.NewReader(".pl 3000v\n") // one page, as on a terminal: no cell lies across its end
			}
			if err := cmd.Run(); err != nil || complaints.Len() > 0 {
				t.Errorf("%q %s: %v: %s", command, filepath.Base(name), err, complaints.String())
			}
		}
	}
	if !found {
		t.Skip("neither groff nor mandoc")
	}
}

// TestCommandPages checks that every flag and every command has its place.
func TestCommandPages(t *testing.T) {
	all := allCommands()
	for i, page := range commandPages() {
		text := string(page.Render())
		if !strings.Contains(text, ".SH EXAMPLES") {
			t.Errorf("%s has no examples", page.Name)
		}
		for _, sub := range all[i].Commands() {
			if !strings.Contains(text, ".TP\n\\fB"+sub.Name()+"\\fR\n") {
				t.Errorf("%s: no command %s", page.Name, sub.Name())
			}
		}
		all[i].LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(text, `\fB\-\-`+strings.ReplaceAll(f.Name, "-", `\-`)+`\fR`) {
				t.Errorf("%s: no --%s", page.Name, f.Name)
			}
		})
	}
}

// word is a word that Markdown and a formatted page share.
var word = regexp.MustCompile(`\pL{4,}`)

// TestManualPages checks that each word of the manual is in a formatted page.
func TestManualPages(t *testing.T) {
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip(err)
	}
	target := regexp.MustCompile(`!\[[^]]*\]\([^)]*\)|\]\([^)]*\)`)
	for _, name := range rendered(t) {
		if filepath.Ext(name) != ".7" {
			continue
		}
		out, err := exec.Command("groff", "-t", "-k", "-man", "-Tutf8", "-P-cbou", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		base := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "flowdedup-"), ".7")
		source, err := os.ReadFile(filepath.Join("..", base+".md"))
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(string(source), "\n")
		page := strings.ToLower(string(out))
		for _, w := range word.FindAllString(target.ReplaceAllString(body, " "), -1) {
			if !strings.Contains(page, strings.ToLower(w)) {
				t.Errorf("%s lacks %q", filepath.Base(name), w)
			}
		}
	}
}

// TestMarkdown holds what pages have of Markdown that go-md2man renders otherwise.
func TestMarkdown(t *testing.T) {
	link := func(target string) string {
		if strings.HasPrefix(target, "live.md") {
			return "flowdedup-live"
		}
		return ""
	}
	for text, want := range map[string]string{
		"plain - text":                 `plain \- text`,
		"`a-b` and **bold** *slanted*": `\fBa\-b\fR and \fBbold\fP \fIslanted\fP`,
		"see [live.md](live.md#x)":     `see \fBflowdedup\-live\fR(7)`,
		"[rings](live.md#rings)":       `rings (\fBflowdedup\-live\fR(7))`,
		"[`--rings`](live.md)":         `\fB\-\-rings\fR (\fBflowdedup\-live\fR(7))`,
		"[the unit](../contrib/x)":     "the unit",
		"[Go](https://go.dev)":         "Go <https://go.dev>",
		"a ![picture](x.png)":          "a",
		`back\slash`:                   `back\eslash`,
		"~/.config\n.conf ^2":          `\(ti/.config` + "\n" + `\&.conf \(ha2`,
		"    .a\n\n    'b":             ".RS 4\n.nf\n\\&.a\n\\&\n\\&'b\n.fi\n.RE",
		"| a | b |\n|---|---|\n| `c` | [twenty `and` thirty letters](x) |":    ".TS\nlb lxb\nl lx.\na\tT{\nb\nT}\n\\fBc\\fR\tT{\ntwenty \\fBand\\fR thirty letters\nT}\n.TE",
		"| a | b | c | d | e |\n|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | 5 |": ".TP\n1\n\\fIb:\\fR 2\n.br\n\\fIc:\\fR 3\n.br\n\\fId:\\fR 4\n.br\n\\fIe:\\fR 5",
	} {
		page := roff.Page{Name: "p", Section: 7, Body: "## Description\n\n" + text, Link: link}
		_, got, _ := strings.Cut(string(page.Render()), ".SH DESCRIPTION\n")
		if strings.TrimSpace(got) != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
