// SPDX-License-Identifier: Apache-2.0

package distinct_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestJitter counts stamps that are late at random, by less than the windows that may be open
// and by far more. Each window has its rows once, and the changes of each row agree with the row of
// the window before. Within the limit rows are in order, and no packet is late.
func TestJitter(t *testing.T) {
	const packets = 4000
	for _, c := range []struct{ perSecond, jitter int }{{1, 50}, {20, 5}, {20, 50}, {1, 500}, {20, 500}} {
		t.Run(fmt.Sprintf("%d packets, jitter %d", c.perSecond, c.jitter), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(91, uint64(c.jitter)))
			seconds := make([]int, packets)
			for i := range seconds {
				seconds[i] = 1000 + i/c.perSecond - rng.IntN(c.jitter)
			}
			in := filepath.Join(t.TempDir(), "jitter.pcap")
			if err := os.WriteFile(in, secondsPcap(seconds, func(int) int { return 1 }), 0o600); err != nil {
				t.Fatal(err)
			}
			rows := clitest.RunDistinct(t, in, "--of", "src", "--every", "1s", "--gaps", "--changes", "--quiet")
			within := c.jitter < 60
			if counted := checkJitter(t, rows, within); counted > packets || within && counted < packets {
				t.Errorf("%d packets are counted, of %d", counted, packets)
			}
		})
	}
}

// checkJitter returns the packets of the rows.
func checkJitter(t *testing.T, rows []clitest.DistinctRow, inOrder bool) (packets int) {
	t.Helper()
	distinct, last := map[string]uint64{}, ""
	for _, row := range rows {
		if row.Family != "ipv4" {
			continue
		}
		packets += int(row.Packets)
		if _, ok := distinct[row.WindowStart]; ok {
			t.Errorf("window %s has two rows", row.WindowStart)
		}
		distinct[row.WindowStart] = row.Distinct
		if inOrder && strings.Compare(row.WindowStart, last) < 0 {
			t.Errorf("window %s comes after %s", row.WindowStart, last)
		}
		last = row.WindowStart
	}
	for _, row := range rows {
		start, err := time.Parse(time.RFC3339Nano, row.WindowStart)
		if err != nil {
			t.Fatal(err)
		}
		before, ok := distinct[stampOf(start.Add(-time.Second))]
		if row.Family == "ipv4" && ok && row.New != nil && *row.Returning+*row.Gone != before {
			t.Errorf("window %s: %d returning and %d gone, of %d", row.WindowStart, *row.Returning, *row.Gone, before)
		}
		if row.Family == "ipv4" && inOrder && (row.New == nil) == ok {
			t.Errorf("window %s: changes %v", row.WindowStart, row.New)
		}
	}
	return packets
}

// TestLateForMemory counts packets of four hours in turns. The least memory keeps two windows
// open, and the warning says what keeps more.
func TestLateForMemory(t *testing.T) {
	stream := clitest.RandomStream(rand.New(rand.NewPCG(7, 8)), 20_000, 1, time.Millisecond)
	for i := range stream {
		stream[i].Time += int64(i/100%4) * int64(time.Hour)
	}
	name := clitest.WriteStream(t, stream, 1)
	const advice = "for want of memory. Without --memory more windows stay open"
	for memory, late := range map[string]bool{"432KiB": true, "8MiB": false} {
		_, errs, code := clitest.Run("distinct", "--json", "--of", "src", "--memory", memory, name)
		if code != cli.ExitDone || strings.Contains(errs, "not counted") != late || strings.Contains(errs, advice) != late {
			t.Errorf("--memory %s: exit code %d: %s", memory, code, errs)
		}
	}
}
