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
// one is still on it.
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
					WindowStart: stamp(i), WindowEnd: stamp(i + 1), Of: of, Family: family,
					Distinct: number, Low: number - min(number, 3), High: number + 3, Packets: 1000,
					RowChanges: &count.RowChanges{New: 5, Returning: 6, Gone: 7},
				})
			}
		}
		if err := p.addRows(rows); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := p.page().Write(&out); err != nil {
		t.Fatal(err)
	}
	if n := out.Len(); n > 300<<10 {
		t.Errorf("%d bytes", n)
	}
	for _, want := range []string{"The most are 987,654, in the window from 2026-01-0", "earlier windows are in --csv", "Distinct mac", ">10,000<"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q", want)
		}
	}
}
