// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// rowsOf returns the rows of an hour with a number of sources, or of packets without a
// timestamp if hour is "".
func rowsOf(hour string, sources uint64) []count.Row {
	start, end := int64(math.MinInt64), int64(math.MinInt64)
	if hour != "" {
		begin, err := time.Parse("2006-01-02 15", "2026-11-21 "+hour)
		if err != nil {
			panic(err)
		}
		start, end = begin.UnixNano(), begin.Add(time.Hour).UnixNano()
	}
	return count.RowsOf(start, end, time.UTC, []windows.Count{
		{Key: "src", Family: "ipv4", Counts: engine.Counts{Distinct: sources, Low: sources, High: sources}},
		{Key: "src", Family: "ipv6"},
		{Key: "src", Family: "all", Packets: 12, Counts: engine.Counts{Distinct: sources, Low: sources - 1, High: sources + 1}},
		{Key: "mac", Family: "all", Packets: 13, Counts: engine.Counts{Distinct: 2, Low: 2, High: 2}},
	})
}

// cut has a run begin and end within a window.
func cut(rows []count.Row) []count.Row {
	from, to := "2026-11-21T08:20:00.5Z", "2026-11-21T08:40:00Z"
	for i := range rows {
		rows[i].Cut = count.Cut{Cut: "both", SeenFrom: &from, SeenTo: &to}
	}
	return rows
}

// TestTableStreams checks that each window is written as soon as it closes. A table that
// is too narrow for a window ends, and first sightings stand between tables.
func TestTableStreams(t *testing.T) {
	var out bytes.Buffer
	table := newTextTable(&out, 0, moreColumns{})
	for i, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return table.writeRows(rowsOf("06", 8)) }, `
window from           of      IPv4     IPv6      all  packets
2026-11-21 06:00 UTC  src        8        0     8 ±1       12
                      mac                          2       13
`},
		{func() error { return table.writeRows(rowsOf("07", 3)) }, `
2026-11-21 07:00 UTC  src        3        0     3 ±1       12
                      mac                          2       13
`},
		{func() error { table.open = false; return nil }, ""}, // a sighting
		{func() error { return table.writeRows(cut(rowsOf("08", 4))) }, `

window from             of      IPv4     IPv6      all  packets
2026-11-21 08:00 UTC *  src        4        0     4 ±1       12
                        mac                          2       13
`},
		{func() error { return table.writeRows(rowsOf("09", 1000000)) }, `

window from             of        IPv4     IPv6           all  packets
2026-11-21 09:00 UTC    src  1,000,000        0  1,000,000 ±1       12
                        mac                                 2       13
`},
		{func() error { return table.writeRows(rowsOf("", 4)) }, `
without a timestamp     src          4        0          4 ±1       12
                        mac                                 2       13
`},
		{func() error { return table.close(1234, 8) }, `
* a part of the window: the input begins at 2026-11-21 08:20:00 UTC and ends at 2026-11-21 08:40:00 UTC
1,234 packets filtered out
8 packets without IP, in no row of addresses
`},
	} {
		out.Reset()
		if err := step.do(); err != nil || out.String() != strings.TrimPrefix(step.want, "\n") {
			t.Errorf("step %d: %v\n%s", i, err, &out)
		}
	}
}

// TestNarrowTable leaves out columns that the terminal has no room for, and says which. Missing
// sensors have a line of their own.
func TestNarrowTable(t *testing.T) {
	var out bytes.Buffer
	table := newTextTable(&out, 44, moreColumns{Sensors: true})
	rows := rowsOf("06", 1000)
	for i := range rows {
		rows[i].RowSensors = &count.RowSensors{Sensors: "1/3", Missing: []string{"roof", "a-sensor-with-a-long-name"}}
	}
	if err := errors.Join(table.writeRows(rows), table.close(0, 0)); err != nil {
		t.Fatal(err)
	}
	want := `window from           of        all  sensors
2026-11-21 06:00 UTC  src  1,000 ±1      1/3
                      mac         2      1/3
  without roof, a-sensor-with-a-long-name
too narrow for IPv4, IPv6, packets
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

// TestEmptyTable says that there is nothing.
func TestEmptyTable(t *testing.T) {
	var out bytes.Buffer
	if err := newTextTable(&out, 0, moreColumns{}).close(0, 0); err != nil || out.String() != "no packets\n" {
		t.Errorf("%v, %q", err, &out)
	}
}

// TestCSVStreams checks that the header and each window are written at once.
func TestCSVStreams(t *testing.T) {
	var out bytes.Buffer
	csv, err := newCSVLines(&out, moreColumns{})
	for lines := 1; lines <= 9; lines += 4 {
		if err != nil || strings.Count(out.String(), "\n") != lines {
			t.Errorf("want %d lines: %v\n%s", lines, err, &out)
		}
		err = csv.writeRows(rowsOf("06", 5))
	}
}

// TestLateText says that memory closed windows only where it did, and what bounds the memory only
// where a flag does.
func TestLateText(t *testing.T) {
	for _, c := range []struct {
		late, forMemory uint64
		memory          int
		want            string
	}{
		{1, 0, 1 << 20, "1 packet is not counted: its window had closed"},
		{5, 2, 0, "5 packets are not counted: their window had closed, for 2 of them early, for want of memory"},
		{5, 2, 1 << 20, "5 packets are not counted: their window had closed, for 2 of them early, for want of memory. Without --memory more windows stay open"},
	} {
		f := &flags{}
		f.Method, f.Memory = "auto", c.memory
		if got := f.lateText(&Result{Late: c.late, LateForMemory: c.forMemory}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
