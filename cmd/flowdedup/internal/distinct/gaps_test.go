// SPDX-License-Identifier: Apache-2.0

package distinct_test

import (
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestChangesAndGaps compares rows with lists of what was seen in each window.
func TestChangesAndGaps(t *testing.T) {
	in := filepath.Join(t.TempDir(), "gaps.pcap")
	data := clitest.HourlyPcap(12)
	const head, record = 24, 36
	data = slices.Concat(data[:head+3*record], data[head+6*record:]) // no packets in hours 3, 4 and 5
	if err := os.WriteFile(in, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"auto", "exact", "sketch"} {
		var got []string
		for _, row := range clitest.RunDistinct(t, in, "--of", "src,dst", "--changes", "--gaps", "--total", "--method", method) {
			if row.Family != "ipv4" {
				continue
			}
			text := fmt.Sprintf("%s%s %s %d", strings.TrimPrefix(row.Kind, "window"), strings.TrimPrefix(row.WindowStart, "1970-01-01T")[:2], row.Of, row.Distinct)
			if row.New != nil {
				text += fmt.Sprintf(" %d %d %d", *row.New, *row.Returning, *row.Gone)
			}
			got = append(got, text)
		}
		var want []string
		for hour := range 12 {
			src, dst := " src 1 1 0 1", " dst 1 0 1 0"
			switch {
			case hour == 0:
				src, dst = " src 1", " dst 1"
			case hour == 3:
				src, dst = " src 0 0 0 1", " dst 0 0 0 1"
			case hour == 4, hour == 5:
				src, dst = " src 0 0 0 0", " dst 0 0 0 0"
			case hour == 6:
				src, dst = " src 1 1 0 0", " dst 1 1 0 0"
			}
			want = append(want, fmt.Sprintf("%02d", hour)+src, fmt.Sprintf("%02d", hour)+dst)
		}
		want = append(want, "total00 src 9", "total00 dst 1")
		if !slices.Equal(got, want) {
			t.Errorf("%s: rows %q, want %q", method, got, want)
		}
	}
	sliding := 0
	for _, row := range clitest.RunDistinct(t, in, "--of", "src", "--slide", "30m", "--gaps", "--method", "sketch") {
		if row.Family == "all" {
			sliding++
		}
	}
	if sliding != 23 {
		t.Errorf("%d windows that slide, want 23", sliding)
	}
}

// secondsPcap makes a capture with a number of packets in each of the given seconds, in
// this order.
func secondsPcap(seconds []int, packets func(second int) int) []byte {
	const head, record = 24, 36
	one := clitest.HourlyPcap(1)
	data := slices.Clone(one[:head])
	for _, second := range seconds {
		for i := range packets(second) {
			data = append(data, one[head:]...)
			binary.LittleEndian.PutUint32(data[len(data)-record:], uint32(second))
			data[len(data)-5] = byte(i) // of the source
		}
	}
	return data
}

// TestGapsOfManyWindows counts in more windows than are open at once, some of them much
// larger than others, by one clock and by two. Each window has its rows once, and only
// windows without packets have rows of zeros.
func TestGapsOfManyWindows(t *testing.T) {
	var oneClock, twoClocks []int
	for second := range 300 {
		if second%17 == 16 {
			continue
		}
		oneClock = append(oneClock, second)
		twoClocks = append(twoClocks, second)
		if second%3 == 0 {
			twoClocks = append(twoClocks, second+20)
		}
	}
	packets := func(second int) int { return 1 + second*7%13 }
	for name, seconds := range map[string][]int{"one clock": oneClock, "two clocks": twoClocks} {
		in := filepath.Join(t.TempDir(), "many.pcap")
		if err := os.WriteFile(in, secondsPcap(seconds, packets), 0o600); err != nil {
			t.Fatal(err)
		}
		want := map[string]uint64{}
		for second := range slices.Max(seconds) + 1 {
			want[stampOf(time.Unix(int64(second), 0).UTC())] = 0
		}
		for _, second := range seconds {
			want[stampOf(time.Unix(int64(second), 0).UTC())] += uint64(packets(second))
		}
		for _, row := range clitest.RunDistinct(t, in, "--no-merge", "--of", "src", "--every", "1s", "--gaps") {
			if row.Family != "ipv4" {
				continue
			}
			if n, ok := want[row.WindowStart]; !ok || n != row.Packets {
				t.Errorf("%s: window %s has %d packets, want %d once", name, row.WindowStart, row.Packets, n)
			}
			delete(want, row.WindowStart)
		}
		if len(want) > 0 {
			t.Errorf("%s: no rows of %v", name, want)
		}
	}
}

// TestKindsAgree compares the kinds of rows in JSON and CSV.
func TestKindsAgree(t *testing.T) {
	dir := t.TempDir()
	in, table := filepath.Join(dir, "in.pcap"), filepath.Join(dir, "out.csv")
	if err := os.WriteFile(in, clitest.HourlyPcap(2), 0o600); err != nil {
		t.Fatal(err)
	}
	rows := clitest.RunDistinct(t, in, "--total", "--csv", table)
	file, err := os.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := slices.Index(records[0], "kind")
	var got, want []string
	for _, r := range records[1:] {
		got = append(got, r[column])
	}
	for i := range rows {
		want = append(want, rows[i].Kind)
	}
	if !slices.Equal(got, want) {
		t.Errorf("kinds in CSV are %q, in JSON %q", got, want)
	}
}
