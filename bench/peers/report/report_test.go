// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const results = `pkg: github.com/flowdedup/flowdedup/asm/line
cpu: Some CPU
BenchmarkRows/memory=1024KiB/shape=32x16-2   100   4.0 ns/element
BenchmarkRows/memory=1024KiB/shape=32x16-2   100   2.0 ns/element
BenchmarkRows/memory=1024KiB/shape=32x16-2   100   3.0 ns/element
BenchmarkRows/memory=128KiB/shape=32x16-2    100   2.5 ns/element
BenchmarkLineBaseline/memory=1024KiB-2          100   1.5 ns/element
PASS
pkg: github.com/flowdedup/flowdedup/asm/digest
BenchmarkSum16/level=vaes-2                  100   0.75 ns/element
PASS
pkg: github.com/flowdedup/flowdedup/bench/peers
BenchmarkKnown/memory=128KiB/filter=ours     10   0 fnr   0.0005 fpr   0.125 held-MiB   5.0 ns/element
BenchmarkKnown/memory=128KiB/filter=theirs   10   0.25 fnr   0.01 fpr   0.125 held-MiB   210 ns/element
BenchmarkKnown/memory=1024KiB/filter=theirs  10   0 fnr   0.01 fpr   1 held-MiB   300 ns/element
`

// TestPage looks for the tables that the results above must give.
func TestPage(t *testing.T) {
	page := pageOf(t, results)
	for _, want := range []string{
		"\n## Some CPU, model 1\n\nMade in one go by `make bench SUITE=all` on 2026-11-27 from commit 01234567: linux/amd64, 2 threads, kernel 6.1.\n",
		"slowest and fastest lie 0 % of the median apart for half of the benchmarks, and 67 % for nine of ten",
		"|  | 128 KiB | 1 MiB |\n|---|---:|---:|\n| line LineBaseline | - | 1.50 |\n| line Rows shape=32x16 | 2.50 | 3.00 (2.0) |\n",
		"|  | ns/element |\n|---|---:|\n| digest Sum16 level=vaes | 0.75 |\n",
		"<summary>Engines</summary>\n\nDigests (for ExactV4, addresses) are given.\n\nNo results.\n",
		"#### Known\n",
		"| 128 KiB | ours | 5.00 | 1.0 | 0.0005 | 0 | 0.12 |\n|  | theirs | 210 | 42.0 | 0.01 | 0.25 | 0.12 |\n",
		"| 1 MiB | theirs | 300 | 1.0 | 0.01 | 0 | 1.00 |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("missing:\n%s\nin:\n%s", want, page)
		}
	}
}

// originOf names the run of some results.
func originOf(cpu, commit string) string {
	return fmt.Sprintf("cpu-model: %s\ncommit: %s\ndate: 2026-11-27\nsystem: linux/amd64\nthreads: 2\nkernel: 6.1\n", cpu, commit)
}

// TestSections replaces the section of one CPU as a whole, and keeps the others and the
// section that bench/contest writes, once and before the CPUs.
func TestSections(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.md")
	contest, other := contestHeading+"\nWho loses what.\n", "\n## Other CPU\n\n### Live\n\nOld.\n"
	mine := "\n## Some CPU, model 1\n\n### Whole commands\n\nOld, too.\n"
	if err := os.WriteFile(out, []byte(title+contest+other+mine), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		page := addTo(t, out, "", results)
		if !strings.HasPrefix(page, title+contest+"\n## Some CPU, model 1\n") || !strings.HasSuffix(page, other) {
			t.Errorf("not the contest, the new section and the other in:\n%s", page)
		}
		for _, heading := range []string{contestHeading, "\n## Some CPU", "\n## Other CPU"} {
			if n := strings.Count(page, heading); n != 1 {
				t.Errorf("%d times %q", n, heading)
			}
		}
		if strings.Contains(page, "Old, too.") {
			t.Error("the section is a mixture")
		}
	}
}

// TestRuns refuses results of two runs, and results that name none, for the page.
func TestRuns(t *testing.T) {
	for name, text := range map[string]string{
		"two CPUs":    originOf("Some CPU", "01") + results + originOf("Other CPU", "01") + receivers,
		"two commits": originOf("Some CPU", "01") + results + originOf("Some CPU", "02") + receivers,
		"none":        results,
	} {
		in, out := filepath.Join(t.TempDir(), "in.txt"), filepath.Join(t.TempDir(), "out.md")
		if err := os.WriteFile(in, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := run([]string{in}, out, ""); !errors.Is(err, errRuns) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: a page was written", name)
		}
	}
}

// TestContestTimes orders programs by the median of the rounds' ratios.
func TestContestTimes(t *testing.T) {
	page := pageOf(t, `pkg: github.com/flowdedup/flowdedup/bench/contest
program: ours, by default
BenchmarkContest/program=0 1 0.1 cpu-s 1000000 packets
program: slow
BenchmarkContest/program=1 1 0.5 cpu-s 1000000 packets
program: quick
BenchmarkContest/program=2 1 0.04 cpu-s 1000000 packets
program: ours, by default
BenchmarkContest/program=0 1 0.2 cpu-s 1000000 packets
program: slow
BenchmarkContest/program=1 1 0.6 cpu-s 1000000 packets
program: quick
BenchmarkContest/program=2 1 0.08 cpu-s 1000000 packets
`)
	want := "| quick | 0.06 | 0.40 |\n| ours, by default | 0.15 | 1.00 |\n| slow | 0.55 | 4.00 |\n"
	if !strings.Contains(page, contestTimes) || !strings.Contains(page, want) {
		t.Errorf("missing:\n%s\nin:\n%s", want, page)
	}
}

func pageOf(t *testing.T, results string) string {
	t.Helper()
	return addTo(t, filepath.Join(t.TempDir(), "out.md"), "", results)
}

// addTo makes a page anew from results and returns it.
func addTo(t *testing.T, out, charts, results string) string {
	t.Helper()
	in := filepath.Join(t.TempDir(), "in.txt")
	if err := os.WriteFile(in, []byte(originOf("Some CPU, model 1", "01234567")+results), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{in}, out, charts); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func TestBadInput(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.txt")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken.txt")
	if err := os.WriteFile(broken, []byte("BenchmarkRows 1 two ns/op\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{empty, broken, filepath.Join(t.TempDir(), "missing.txt")} {
		if err := run([]string{path}, "", ""); err == nil {
			t.Errorf("no error for %s", filepath.Base(path))
		}
	}
}
