// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"path/filepath"
	"strings"
	"testing"
)

// heldFigures are measured numbers of the README and the manual, and the test that makes them again.
var heldFigures = []struct{ page, text, folder, test string }{
	{"README.md", "1,224 packets in, 905 duplicates removed (73.94 %), 319 packets written", dedupTests, "TestManualFigures"},
	{"README.md", "at most 1.1·10⁻¹¹", dedupTests, "TestManualFigures"},
	{manual + "guarantees.md", "at most 1.1·10⁻¹¹", dedupTests, "TestManualFigures"},
	{manual + "accuracy.md", "at most 1.1·10⁻¹¹ of packets (`--across` 1.7·10⁻¹⁰", dedupTests, "TestManualFigures"},
	{manual + "accuracy.md", "34 bits and a coarse time | 7·10⁻¹⁰", dedupTests, "TestManualFigures"},
	{manual + "accuracy.md", "24 bits and a coarse time | 9·10⁻⁷", dedupTests, "TestManualFigures"},
	{manual + "accuracy.md", "95 of 6.0 million", dedupTests, "TestManualMemory"},
	{manual + "accuracy.md", "236,000", dedupTests, "TestManualMemory"},
	{manual + "accuracy.md", "| `--window 1s` | 31.5 MB |", dedupTests, "TestManualMemory"},
	{manual + "accuracy.md", "| 128 | 0.76 % | 7·10⁻⁹ % | 2·10⁻¹⁴ % |", "engine/sizing", "TestManualMisses"},
	{manual + "plan.md", "within a fifth, below 1 % a third", "engine/sizing", "TestReplay"},
	{manual + "recipes.md", "40 of 292 copies", dedupTests, "TestManualFigures"},
	{manual + "keep.md", "| `--keep flow` | 319 | 14 | 0 |", "bench/analyzers", "TestFigures"},
	{manual + "distinct.md", "standard error 0.54 %", "engine/distinct", "TestError"},
	{manual + "plan.md", "In tests false positive rates agree within 10 %", "cmd/flowdedup/internal/plan", "TestPlanRates"},
	{manual + "windows.md", "`coarse` has windows up to 0.8 %, rarely 1.6 %, longer; `fine` 3.2 %, rarely 6.5 %", "engine/window", "TestCoarseWindow"},
}

// unheldFigures are measured numbers that no test makes again: they depend on the machine and its
// load, or take too long. Who changes what they are about measures them.
var unheldFigures = []struct{ page, text string }{
	{manual + "accuracy.md", "| 31.5 MB | 52 MB |"}, // of processes
	{manual + "accuracy.md", "A minute of a million packets a second takes 720 MB with `fine`"},
	{manual + "accuracy.md", "`timed` then takes 29 to 36 bytes a packet of the window, and forgets one in 50,000"},
	{manual + "browser.md", "is one file of 9 MB"},
	{manual + "browser.md", "loads 6.7 MB"},
	{manual + "flows.md", "the program takes 60 MB more"},
	{manual + "hub.md", "512 MiB hold 7 million digests of a window, at 73 bytes, with 7·10⁻¹² false copies"},
	{manual + "hub.md", "| 61 | 7.8 ms | 12.5 ms; a lost node lets 2.5 % of 10 s pass unchecked |"},
	{manual + "windows.md", "1 ms missed up to 10 % of copies, 10 ms 2 %"}, // at a load of 20
	{manual + "windows.md", "`timed` takes 115 MB for 1,000 kept packets a second"},
	{manual + "windows.md", "`sbf` in 1 MiB takes 0.9 % of new packets for copies, with a table of 4 MiB none, and misses 5 % more"},
}

const (
	manual     = "cmd/flowdedup/doc/"
	dedupTests = "cmd/flowdedup/internal/dedup"
)

// TestFiguresHeld finds measured numbers in the pages, and the tests that hold them.
func TestFiguresHeld(t *testing.T) {
	has := func(page, text string) {
		if !strings.Contains(oneLine(read(t, filepath.Join(root, page))), text) {
			t.Errorf("%s does not have %q", page, text)
		}
	}
	for _, f := range heldFigures {
		has(f.page, f.text)
		if !hasTest(t, f.folder, f.test) {
			t.Errorf("%s: no %s in %s", f.page, f.test, f.folder)
		}
	}
	for _, f := range unheldFigures {
		has(f.page, f.text)
	}
}
