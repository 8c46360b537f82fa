// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab"
)

// alike are kinds in which flowdedup loses packets that must stay, since nothing that it
// compares distinguishes them from copies.
var alike = map[string]string{
	"dupacks": "equal acknowledgements of IPv6 within the window differ from copies in the hop limit alone",
	"twins":   "only --across tells twins from copies",
}

// TestFlowdedup judges flowdedup's output for each kind. No packet may be lost, and with
// the flags of the manual no copy may be left.
func TestFlowdedup(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(lab.Build(t, "../../cmd/flowdedup"), "flowdedup")
	made, err := makeAll(dir, 3000)
	if err != nil {
		t.Fatal(err)
	}
	films, err := realCaptures("../../testdata/pcaps")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(made, films...) {
		known, err := newTruth(c.file, c.list)
		if err != nil {
			t.Fatal(err)
		}
		for _, ours := range tools[:2] {
			t.Run(c.kind+"/"+ours.name, func(t *testing.T) {
				ours.command = append([]string{program}, ours.command[1:]...)
				r := ours.try(&c, known, dir)
				if r.err != nil {
					t.Fatal(r.err)
				}
				lost := r.Lost
				if alike[c.kind] != "" && (ours.flags != manual || len(c.flags) == 0) {
					lost -= r.LostStay // and no others
				}
				if lost != 0 || r.Changed != 0 || r.Unknown != 0 || r.Backwards != 0 || r.TwoSided != r.Talks {
					t.Errorf("%+v", r.verdict)
				}
				if (ours.flags == manual || len(c.flags) == 0) && (r.Copies != 0 || r.WrongSums != 0) {
					t.Errorf("copies are left, or wrong checksums: %+v", r.verdict)
				}
			})
		}
	}
}

// TestMake gives the same bytes each time.
func TestMake(t *testing.T) {
	var files [2]map[string][]byte
	for i := range files {
		dir := t.TempDir()
		if err := run([]string{"make", "-o", dir, "-packets", "400"}, nil); err != nil {
			t.Fatal(err)
		}
		files[i] = map[string][]byte{}
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(names) != 2*(len(kinds)+1) {
			t.Fatal(names, err)
		}
		for _, name := range names {
			if files[i][filepath.Base(name)], err = os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, content := range files[0] {
		if !bytes.Equal(content, files[1][name]) || len(content) < 40 {
			t.Errorf("%s: %d and %d bytes differ", name, len(content), len(files[1][name]))
		}
	}
}

// TestRun gives all captures to a program that copies them, named by -tool.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("cp"); err != nil {
		t.Skip("skipped: ", err)
	}
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("# Speed\n\nText.\n\n## Whole commands\n\nRest.\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	c := contest{packets: 400, large: 1000, rounds: 1}
	copying, err := parseTool("copy: cp {in} {out}")
	if err != nil {
		t.Fatal(err)
	}
	c.tools = []tool{copying, parsed("none: no-such-program {in} {out}"), parsed("broken: cp {in}.missing {out}")}
	c.leaveOut()
	dir := t.TempDir()
	if err := c.judge(dir, "../../testdata/pcaps"); err != nil {
		t.Fatal(err)
	}
	var times strings.Builder
	if err := c.measure(dir, &times); err != nil {
		t.Fatal(err)
	}
	if strings.Count(times.String(), "\nprogram: copy\nBenchmarkContest/program=0 1 ") != 1 || strings.Contains(times.String(), "broken") {
		t.Errorf("not one time of each program that works:\n%s", times.String())
	}
	for i, r := range c.results[0] {
		known := c.truths[i]
		if r.err != nil || r.Lost != 0 || r.Copies != len(known.records)-known.packets || r.Copies == 0 {
			t.Errorf("%s: %+v", c.captures[i].kind, r)
		}
		if c.results[1][i].err == nil {
			t.Error("a broken program has a result")
		}
	}
	for range 2 { // the second replaces the first
		if err := replaceSection(page, c.section()); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{sectionHeading, "| copy | 0 |", "fails", "Not installed: none.", "\n## Whole commands\n\nRest.\n"} {
		if strings.Count(string(text), part) == 0 {
			t.Errorf("the page lacks %q", part)
		}
	}
	if strings.Count(string(text), sectionHeading) != 1 {
		t.Error("the page has the section twice")
	}
}

// TestJudgeCommand prints the judge's counts.
func TestJudgeCommand(t *testing.T) {
	_, known, c := filmed(t, "router")
	var out bytes.Buffer
	if err := run([]string{"judge", c.file, c.file}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "packets lost             0, of ") {
		t.Error(out.String())
	}
	out.Reset()
	if err := run([]string{"judge", "-json", "-list", listFile(c.file), c.file, c.file}, &out); err != nil {
		t.Fatal(err)
	}
	var v verdict
	if err := json.Unmarshal(out.Bytes(), &v); err != nil || v.Copies != len(known.records)-known.packets || v.Copies == 0 {
		t.Error(out.String(), err)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"win"}, {"make"}, {"make", "-o", "x", "-packets", "1"}, {"judge", "x"}, {"run", "x"}} {
		if err := run(args, nil); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
	for _, text := range []string{"", "cp {in} {out}", "copy: cp {in}", "copy: cp {out}"} {
		if _, err := parseTool(text); !errors.Is(err, errTool) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
