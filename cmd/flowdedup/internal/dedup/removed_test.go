// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestRemoved compares the list of removed packets with what the output lacks, and with the comments
// of --mark on the same packets.
func TestRemoved(t *testing.T) {
	for seed, flags := range [][]string{{"--keep", "first"}, {"--keep", "flow"}, {"--prefer", "interface point2"}, {"--window", "50ms", "--across"}, {"--ignore", "l4-checksum"}} {
		stream := clitest.RandomStream(rand.New(rand.NewPCG(uint64(seed), 3)), 4000, 3, 300*time.Microsecond)
		in, dir := clitest.WriteStream(t, stream, 3), t.TempDir()
		out, list, marked := filepath.Join(dir, "out.pcapng"), filepath.Join(dir, "list.csv"), filepath.Join(dir, "marked.pcapng")
		sum := clitest.RunDedup(t, cli.ExitDone, slices.Concat([]string{in, "-w", out, "--removed", list}, flags)...)
		clitest.RunDedup(t, cli.ExitDone, slices.Concat([]string{in, "-w", marked, "--mark"}, flags)...)
		rows, err := csv.NewReader(strings.NewReader(string(clitest.ReadFile(t, list)))).ReadAll()
		if err != nil || uint64(len(rows)) != sum.Duplicates+1 || sum.Duplicates == 0 {
			t.Fatalf("%q: %d rows for %d duplicates, %v", flags, len(rows), sum.Duplicates, err)
		}
		removed, comments := map[int]bool{}, clitest.CommentsOf(t, marked)
		for _, row := range rows[1:] {
			packet, _ := strconv.Atoi(row[0])
			original, _ := strconv.Atoi(row[2])
			removed[packet] = true
			p, o := &stream[packet-1], &stream[original-1]
			if row[3] != fmt.Sprint(p.Time-o.Time) || row[4][:6] != fmt.Sprint("point", p.Iface) || row[5][:6] != fmt.Sprint("point", o.Iface) {
				t.Errorf("%q: %q", flags, row)
			}
			if comment := comments[packet-1]; !strings.HasPrefix(comment, "copy of packet "+row[2]+", ") || !strings.HasSuffix(comment, ", "+row[6]) {
				t.Errorf("%q: %q for the comment %q", flags, row, comment)
			}
		}
		var left []clitest.Record
		for i := range stream {
			if !removed[i+1] {
				left = append(left, stream[i].Record)
			}
		}
		clitest.CompareRecords(t, fmt.Sprint(flags), clitest.ReadAll(t, out), left)
	}
}
