// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"testing"
)

func TestMemoryBudget(t *testing.T) {
	limit, ok := memoryLimit()
	want := int64(unknownBudget)
	if ok {
		want = limit / 8
	}
	if got := MemoryBudget(); int64(got) != want || got <= 0 {
		t.Errorf("a budget of %d bytes of %d (%v)", got, limit, ok)
	}
}

func TestCaches(t *testing.T) {
	c := Caches()
	if c.L1 < 4<<10 || c.L2 < c.L1 || c.L3 < c.L2 {
		t.Errorf("implausible cache sizes: %+v", c)
	}
	for name, want := range map[string]int{"l1": c.L1, "l2": c.L2, "l3": c.L3} {
		if got, ok := Budget(name); !ok || got != want {
			t.Errorf("Budget(%q) = %d, %v, want %d", name, got, ok, want)
		}
		if known, _ := reportedCaches().level(name); Assumed(name) != (known == 0) {
			t.Errorf("Assumed(%q) = %v, and %d bytes are known", name, Assumed(name), known)
		}
	}
	for _, name := range []string{"", "l4", "L2", "8MiB"} {
		if got, ok := Budget(name); ok || got != 0 || Assumed(name) {
			t.Errorf("Budget(%q) = %d, %v", name, got, ok)
		}
	}
}

func TestSaneCaches(t *testing.T) {
	for _, c := range []struct{ in, want CacheSizes }{
		{CacheSizes{}, defaultCaches},
		{CacheSizes{-1, -1, -1}, defaultCaches},
		{CacheSizes{L1: 48 << 10, L2: 2 << 20, L3: 100 << 20}, CacheSizes{L1: 48 << 10, L2: 2 << 20, L3: 100 << 20}},
		{CacheSizes{L1: 64 << 10, L2: 32 << 20, L3: -1}, CacheSizes{L1: 64 << 10, L2: 32 << 20, L3: 32 << 20}},
	} {
		if got := sane(c.in); got != c.want {
			t.Errorf("sane(%+v) = %+v, want %+v", c.in, got, c.want)
		}
	}
}

func TestExactCells(t *testing.T) {
	for lines, want := range map[int]int{2: 16, 1 << 16: 16, 1 << 17: 32, MaxExactLines: 32} {
		if got := ExactCells(lines); got != want {
			t.Errorf("%d lines: %d cells, want %d", lines, got, want)
		}
	}
}
