// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// TestSharedDedup compares the counts and duplicates of every shared capture with those
// of the independent parser.
func TestSharedDedup(t *testing.T) {
	dir := sharedDir(t)
	files, names := sharedFiles(t, dir)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			a, path := files[name], filepath.Join(dir, name)
			for _, identity := range []string{"frame", "l3"} {
				if identity == "l3" && len(a.NotDecoded) > 0 {
					// The independent parser knows no IP in these link types
					// and compares whole frames; flow's own tests hold ours
					// against tshark's addresses.
					continue
				}
				want, more := a.Duplicates[identity], moreCopies[name]
				if identity == "frame" {
					more = moreCopies[""]
				}
				for w, dups := range want.AnchoredLast {
					d, err := time.ParseDuration(w + "s")
					if err != nil {
						t.Fatal(err)
					}
					r := runDedup(t, exitOf(a), "--identity", identity, "--window", d.String(), path)
					check(t, fmt.Sprintf("%s within %s", identity, d), r, a, dups+more.AnchoredLast[w])
				}
				r := runDedup(t, exitOf(a), "--identity", identity, "--window", "none", path)
				check(t, identity+" without a window", r, a, want.Inf+more.Inf)
			}
		})
	}
}

func check(t *testing.T, what string, r dedupResult, a answers, dups uint64) {
	t.Helper()
	if !r.Found(dups) {
		t.Errorf("%s: %d duplicates, want %d (%d undecidable, %d forgotten)", what, r.Duplicates, dups, r.Undecidable, r.EvictedLive)
	}
	got := [...]uint64{r.PacketsIn, r.PacketsOut, r.BytesIn, r.Snapped, r.OutOfOrder, r.NoTimestamp}
	want := [...]uint64{a.Packets, a.Packets - r.Duplicates, a.CapturedBytes, a.Truncated, a.BackwardSteps, a.NoTimestamp}
	if got != want {
		t.Errorf("%s: packets in and out, bytes, snapped, out of order, no timestamp: %v, want %v", what, got, want)
	}
}

// TestSharedRefresh compares windows that slide (--refresh).
func TestSharedRefresh(t *testing.T) {
	dir := sharedDir(t)
	files, names := sharedFiles(t, dir)
	for _, name := range names {
		a := files[name]
		if len(a.NotDecoded) > 0 {
			continue
		}
		for w, dups := range a.Duplicates["l3"].SlidingAbs {
			d, err := time.ParseDuration(w + "s")
			if err != nil {
				t.Fatal(err)
			}
			r := runDedup(t, exitOf(a), "--refresh", "--window", d.String(), filepath.Join(dir, name))
			if dups += moreCopies[name].SlidingAbs[w]; !r.Found(dups) {
				t.Errorf("%s within %s: %d duplicates, want %d (%d undecidable)", name, d, r.Duplicates, dups, r.Undecidable)
			}
		}
	}
}
