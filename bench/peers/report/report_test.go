// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const results = `goos: linux
goarch: amd64
pkg: github.com/flowdedup/flowdedup/asm/line
cpu: Some CPU
BenchmarkRows/memory=1024KiB/shape=32x16-2   100   4.0 ns/element
BenchmarkRows/memory=1024KiB/shape=32x16-2   100   2.0 ns/element
BenchmarkRows/memory=1024KiB/shape=32x16-2   100   3.0 ns/element
BenchmarkRows/memory=128KiB/shape=32x16-2    100   2.5 ns/element
BenchmarkLineFloor/memory=1024KiB-2          100   1.5 ns/element
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
		`linux/amd64, CPU "Some CPU"`,
		"slowest and fastest lie 0 % of the median apart for half of the benchmarks, and 67 % for nine of ten",
		"|  | 128 KiB | 1 MiB |\n|---|---:|---:|\n| line LineFloor | - | 1.50 |\n| line Rows shape=32x16 | 2.50 | 3.00 (2.0) |\n",
		"|  | ns/element |\n|---|---:|\n| digest Sum16 level=vaes | 0.75 |\n",
		"<summary>Engines</summary>\n\nDigests (for ExactV4, addresses) are given.\n\nNo results.\n",
		"### Known\n",
		"| 128 KiB | ours | 5.00 | 1.0 | 0.0005 | 0 | 0.12 |\n|  | theirs | 210 | 42.0 | 0.01 | 0.25 | 0.12 |\n",
		"| 1 MiB | theirs | 300 | 1.0 | 0.01 | 0 | 1.00 |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("missing:\n%s\nin:\n%s", want, page)
		}
	}
}

// TestContest keeps the section that bench/contest writes, once and before the others.
func TestContest(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.md")
	section := contestHeading + "\nWho loses what.\n"
	if err := os.WriteFile(out, []byte(title+section+pipelineHeading+"\nOld.\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		page := addTo(t, out, "", results)
		if !strings.HasPrefix(page, title+section+pipelineHeading+"\nOld.\n") || strings.Count(page, contestHeading) != 1 {
			t.Errorf("the contest's section is not as it was in:\n%.600s", page)
		}
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
	if err := os.WriteFile(in, []byte(results), 0o666); err != nil {
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
