// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"bytes"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
)

// rowsOf returns the rows of an hour with so many sources, or of packets without a
// timestamp if hour is "".
func rowsOf(hour string, sources uint64) []count.Row {
	var start, end *string
	if hour != "" {
		from, to := "2026-11-21T"+hour+":00:00.000000000Z", "2026-11-21T"+hour+":59:59.000000000Z"
		start, end = &from, &to
	}
	return []count.Row{
		{WindowStart: start, WindowEnd: end, Of: "src", Family: "ipv4", Distinct: sources, Low: sources, High: sources},
		{WindowStart: start, WindowEnd: end, Of: "src", Family: "ipv6"},
		{WindowStart: start, WindowEnd: end, Of: "src", Family: "all", Distinct: sources, Low: sources - 1, High: sources + 1, Packets: 12},
		{WindowStart: start, WindowEnd: end, Of: "mac", Family: "all", Distinct: 2, Low: 2, High: 2, Packets: 13},
	}
}

// TestTableStreams checks that each window is written as soon as it closes. A table that
// is too narrow for a window ends, and first sightings stand between tables.
func TestTableStreams(t *testing.T) {
	var out bytes.Buffer
	table := newTextTable(&out, moreColumns{})
	at := "2026-11-21T07:00:00.000000001Z"
	for i, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return table.writeRows(rowsOf("06", 8)) }, `
┌──────────────────────────────────────────────┬──────────┬─────────┬─────────┬────────────┬─────────┐
│ window                                       │ distinct │    IPv4 │    IPv6 │        all │ packets │
├──────────────────────────────────────────────┼──────────┼─────────┼─────────┼────────────┼─────────┤
│ 2026-11-21 06:00:00Z to 2026-11-21 06:59:59Z │ src      │       8 │       0 │ 8 (7 to 9) │      12 │
│                                              │ mac      │         │         │          2 │      13 │
`},
		{func() error { return table.writeRows(rowsOf("07", 3)) }, `
├──────────────────────────────────────────────┼──────────┼─────────┼─────────┼────────────┼─────────┤
│ 2026-11-21 07:00:00Z to 2026-11-21 07:59:59Z │ src      │       3 │       0 │ 3 (2 to 4) │      12 │
│                                              │ mac      │         │         │          2 │      13 │
`},
		{func() error { return table.sighting(&count.Sighting{Of: "src", Value: "10.0.0.1", FirstSeen: &at}) }, `
└──────────────────────────────────────────────┴──────────┴─────────┴─────────┴────────────┴─────────┘
2026-11-21T07:00:00.000000001Z	src	10.0.0.1
`},
		{func() error { return table.writeRows(rowsOf("", 4)) }, `
┌──────────────────────────────────────────────┬──────────┬─────────┬─────────┬────────────┬─────────┐
│ window                                       │ distinct │    IPv4 │    IPv6 │        all │ packets │
├──────────────────────────────────────────────┼──────────┼─────────┼─────────┼────────────┼─────────┤
│ without a timestamp                          │ src      │       4 │       0 │ 4 (3 to 5) │      12 │
│                                              │ mac      │         │         │          2 │      13 │
`},
		{func() error { return table.writeRows(rowsOf("09", 1000)) }, `
└──────────────────────────────────────────────┴──────────┴─────────┴─────────┴────────────┴─────────┘
┌──────────────────────────────────────────────┬──────────┬─────────┬─────────┬──────────────────────┬─────────┐
│ window                                       │ distinct │    IPv4 │    IPv6 │                  all │ packets │
├──────────────────────────────────────────────┼──────────┼─────────┼─────────┼──────────────────────┼─────────┤
│ 2026-11-21 09:00:00Z to 2026-11-21 09:59:59Z │ src      │   1,000 │       0 │ 1,000 (999 to 1,001) │      12 │
│                                              │ mac      │         │         │                    2 │      13 │
`},
		{func() error { return table.close(1234, 8) }, `
└──────────────────────────────────────────────┴──────────┴─────────┴─────────┴──────────────────────┴─────────┘
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

// TestEmptyTable says that there is nothing.
func TestEmptyTable(t *testing.T) {
	var out bytes.Buffer
	if err := newTextTable(&out, moreColumns{}).close(0, 0); err != nil || out.String() != "no packets\n" {
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
