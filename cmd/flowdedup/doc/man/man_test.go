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
	pages := commandPages(nil)
	for _, c := range allCommands() {
		text := pages[manName(c)+".1"]
		if !strings.Contains(text, ".SH EXAMPLES") {
			t.Errorf("%s has no examples", manName(c))
		}
		if !c.HasParent() {
			if !strings.Contains(text, roff.Bold("live")) {
				t.Error("the commands are missing")
			}
			continue
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(text, roff.Bold("--"+f.Name)) {
				t.Errorf("%s: no --%s", manName(c), f.Name)
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

func TestInline(t *testing.T) {
	pages := []page{{name: "live", summary: "live"}}
	link := func(text, target string) string { return linkText(text, target, pages) }
	for text, want := range map[string]string{
		"plain - text":                 `plain \- text`,
		"`a-b` and **bold** *slanted*": `\fBa\-b\fR and \fBbold\fR \fIslanted\fR`,
		"see [live.md](live.md#x)":     `see \fBflowdedup\-live\fR(7)`,
		"[rings](live.md#rings)":       `rings (\fBflowdedup\-live\fR(7))`,
		"[the unit](../contrib/x)":     "the unit",
		"[Go](https://go.dev)":         "Go <https://go.dev>",
		"![picture](x.png)":            "",
		`back\slash`:                   `back\eslash`,
	} {
		if got := inline(text, link); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
