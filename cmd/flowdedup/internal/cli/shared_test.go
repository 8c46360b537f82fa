// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// TestSharedDedup compares the counts and duplicates of every shared capture with those
// of the independent parser.
func TestSharedDedup(t *testing.T) {
	dir := clitest.SharedDir(t)
	files, names := clitest.SharedFiles(t, dir)
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
				want, more := a.Duplicates[identity], clitest.MoreCopies[name]
				if identity == "frame" {
					more = clitest.MoreCopies[""]
				}
				for w, dups := range want.AnchoredLast {
					d, err := time.ParseDuration(w + "s")
					if err != nil {
						t.Fatal(err)
					}
					r := clitest.RunDedup(t, clitest.ExitOf(a), "--identity", identity, "--window", d.String(), path)
					check(t, fmt.Sprintf("%s within %s", identity, d), r, a, dups+more.AnchoredLast[w])
				}
				r := clitest.RunDedup(t, clitest.ExitOf(a), "--identity", identity, "--window", "none", path)
				check(t, identity+" without a window", r, a, want.Inf+more.Inf)
			}
		})
	}
}

// otherTruncated has the number of truncated packets, by identity, of files for which the oracle has
// a different number, as it compares lengths of frames. Here a packet is truncated if its IP header
// states more than was captured; with l3, missing padding does not count.
var otherTruncated = map[string]map[string]uint64{
	"derived__mix-a1.pcap":                 {"frame": 76, "l3": 76},
	"derived__mix-a2.pcapng":               {"frame": 31534, "l3": 31532},
	"pcappluspl__MplsPackets.pcap":         {"l3": 0},
	"tcpdump__icmp-icmp_print-oobr-2.pcap": {"frame": 2},
}

func check(t *testing.T, what string, r dedup.Summary, a clitest.Answers, dups uint64) {
	t.Helper()
	if !clitest.Found(&r, dups) {
		t.Errorf("%s: %d duplicates, want %d (%d undecidable, %d forgotten)", what, r.Duplicates, dups, r.Undecidable, r.EvictedLive)
	}
	truncated, listed := otherTruncated[filepath.Base(t.Name())][strings.Fields(what)[0]]
	if !listed {
		truncated = a.Truncated
	}
	got := [...]uint64{r.PacketsIn, r.PacketsOut, r.BytesIn, r.Truncated, r.OutOfOrder, r.NoTimestamp}
	want := [...]uint64{a.Packets, a.Packets - r.Duplicates, a.CapturedBytes, truncated, a.BackwardSteps, a.NoTimestamp}
	if got != want {
		t.Errorf("%s: packets in and out, bytes, truncated, out of order, no timestamp: %v, want %v", what, got, want)
	}
}

// TestSharedRefresh compares windows that slide (--refresh).
func TestSharedRefresh(t *testing.T) {
	dir := clitest.SharedDir(t)
	files, names := clitest.SharedFiles(t, dir)
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
			r := clitest.RunDedup(t, clitest.ExitOf(a), "--refresh", "--window", d.String(), filepath.Join(dir, name))
			if dups += clitest.MoreCopies[name].SlidingAbs[w]; !clitest.Found(&r, dups) {
				t.Errorf("%s within %s: %d duplicates, want %d (%d undecidable)", name, d, r.Duplicates, dups, r.Undecidable)
			}
		}
	}
}
