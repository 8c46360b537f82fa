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
	{manual + "accuracy.md", "10 to 12 and 8 to 9 bytes a packet of the window. A minute of a million packets a second takes 720 MB with `fine`", dedupTests, "TestManualBytes"},
	{manual + "accuracy.md", "`timed` then takes 29 to 36 bytes a packet of the window, and forgets one in 50,000 too early; it begins with 128 MiB", dedupTests, "TestManualBytes"},
	{manual + "windows.md", "`timed` takes 128 MiB for 1,000 kept packets a second", dedupTests, "TestManualBytes"},
	{manual + "windows.md", "`sbf` in 1 MiB takes 0.6 % of new packets for copies, with a table of 4 MiB none", dedupTests, "TestManualVerified"},
	{manual + "hub.md", "512 MiB hold 7 million digests of a window, at 73 bytes, with 7·10⁻¹² false copies", "engine/cluster/slice", "TestManualMemory"},
	{manual + "hub.md", "| 61 | 7.8 ms | 12.5 ms; a lost node lets 2.5 % of 10 s pass unchecked |", "bench/papers/hubmodel", "TestManual"},
	{manual + "browser.md", "is one file of 9.7 MB", dist, "TestBrowserSize"},
	{manual + "browser.md", "loads 7.3 MB", dist, "TestBrowserSize"},
	{manual + "accuracy.md", "| 128 | 0.76 % | 7·10⁻⁹ % | 2·10⁻¹⁴ % |", "engine/sizing", "TestManualMisses"},
	{manual + "accuracy.md", "| 24 | 12 | 10⁹ | 715 | 728 |", "bench", "TestTimedLookups"},
	{manual + "plan.md", "within a fifth, below 1 % a third", "engine/sizing", "TestReplay"},
	{manual + "recipes.md", "40 of 292 copies", dedupTests, "TestManualFigures"},
	{manual + "keep.md", "| `--keep flow` | 319 | 14 | 0 |", "bench/analyzers", "TestFigures"},
	{manual + "distinct.md", "standard error 0.54 %", "engine/distinct", "TestError"},
	{manual + "plan.md", "In tests false positive rates agree within 10 %", "cmd/flowdedup/internal/plan", "TestPlanRates"},
	{manual + "windows.md", "`coarse` has windows up to 0.8 %, rarely 1.6 %, longer; `fine` 3.2 %, rarely 6.5 %", "engine/window", "TestCoarseWindow"},
}

// unheldFigures are measured numbers that no test makes again, and why. Who changes what they are
// about measures them.
var unheldFigures = []struct{ page, text, why string }{
	{manual + "accuracy.md", "| 31.5 MB | 52 MB |", "the memory of the program alone; the tests' program is larger"},
	{manual + "flows.md", "the program takes 60 MB more", "the same, at full load"},
	{manual + "windows.md", "at a load of 20 on two processors, 1 ms missed up to 10 % of copies, 10 ms 2 %", "a host that is as busy, for minutes"},
}

const (
	manual     = "cmd/flowdedup/doc/"
	dedupTests = "cmd/flowdedup/internal/dedup"
	dist       = "cmd/flowdedup/contrib/dist"
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
