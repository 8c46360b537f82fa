// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
)

// TestDistinctPageLong checks that many windows make no large page, and that the largest
// window is still on it.
func TestDistinctPageLong(t *testing.T) {
	p := &countsPage{}
	const most = 987_654
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	stamp := func(i int) *string {
		s := start.Add(time.Duration(i) * time.Minute).Format(time.RFC3339Nano)
		return &s
	}
	for i := range 10_000 {
		var rows []count.Row
		for _, of := range []string{"src", "dst", "flow", "pair", "mac"} {
			for n, family := range []string{"ipv4", "ipv6", "all"} {
				number := uint64(i%100 + n)
				if i == 7777 {
					number = most
				}
				rows = append(rows, count.Row{
					Counted:  count.Counted{WindowStart: stamp(i), WindowEnd: stamp(i + 1), Of: of, Family: family},
					Distinct: number, Low: number - min(number, 3), High: number + 3, Packets: 1000,
					RowChanges: &count.RowChanges{New: 5, Returning: 6, Gone: 7},
				})
			}
		}
		p.addRows(rows)
	}
	var out bytes.Buffer
	if err := p.page().Write(&out); err != nil {
		t.Fatal(err)
	}
	if n := out.Len(); n > 300<<10 {
		t.Errorf("%d bytes", n)
	}
	for _, want := range []string{`The most are 987,654, in the window from <span class="word">2026-01-0`, "earlier windows are in --csv", "Distinct mac", ">10,000<"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q", want)
		}
	}
}

// TestLead says in a sentence what was counted, and shows columns of changes only if these were
// counted.
func TestLead(t *testing.T) {
	start := time.Date(2026, 3, 3, 3, 0, 0, 0, time.UTC)
	stamp := func(hours int) *string {
		s := start.Add(time.Duration(hours) * time.Hour).Format(time.RFC3339Nano)
		return &s
	}
	row := func(hour int, n uint64) count.Row {
		return count.Row{Counted: count.Counted{WindowStart: stamp(hour), WindowEnd: stamp(hour + 1), Of: "src", Family: "all"}, Distinct: n, Low: n, High: n, Packets: 10}
	}
	changed := row(0, 5)
	changed.RowChanges = &count.RowChanges{New: 5}
	total := count.Row{Kind: count.KindTotal, Counted: count.Counted{Of: "src", Family: "all"}, Distinct: 996, Low: 996, High: 996}
	for _, c := range []struct {
		rows    []count.Row
		want    string
		changes bool
	}{
		{[]count.Row{row(0, 10), row(1, 193), row(2, 49), total}, "On average 84 sources an hour, most (193) on Tuesday 2026-03-03 04:00 UTC; 996 in all.", false},
		{[]count.Row{row(0, 10)}, "10 sources from Tuesday 2026-03-03 03:00 UTC to Tuesday 2026-03-03 04:00 UTC.", false},
		{[]count.Row{changed, row(1, 7)}, "On average 6 sources an hour, most (7) on Tuesday 2026-03-03 04:00 UTC.", true},
		{nil, "No packets.", false},
	} {
		p := &countsPage{}
		for _, r := range c.rows {
			p.addRows([]count.Row{r})
		}
		page := p.page()
		var out strings.Builder
		if err := page.Write(&out); err != nil {
			t.Fatal(err)
		}
		if len(page.Lead) != 1 || page.Lead[0] != c.want {
			t.Errorf("%q, want %q", page.Lead, c.want)
		}
		if got := strings.Contains(out.String(), `<th scope="col">returning</th>`); got != c.changes {
			t.Errorf("%s: columns of changes: %t", c.want, got)
		}
	}
}
