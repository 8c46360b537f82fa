// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

// TestFit cuts tables and sentences, and leaves narrow ones alone.
func TestFit(t *testing.T) {
	const table = "site\tdigests\tper second\t\na\t1,000\t10\t\n"
	for _, c := range []struct {
		columns    int
		text, want string
	}{
		{80, table + "\na few words\n", table + "\na few words\n"},
		{15, table, "site\tdigests\t\na\t1,000\t\n\nsite\tper second\t\na\t10\t\n"},
		{5, "one\t\n1\t\n", "one\t\n1\t\n"},
		{9, "a few more words\n", "a few\n  more\n  words\n"},
	} {
		if got := fit(c.text, c.columns); got != c.want {
			t.Errorf("%d columns of %q: %q, want %q", c.columns, c.text, got, c.want)
		}
	}
}

// TestStatusFits writes the status of many sites with long names for terminals.
func TestStatusFits(t *testing.T) {
	offset, now := 1500*time.Microsecond, time.Unix(1_700_000_000, 0)
	st := hub.Status{Filter: "packets", Window: "1ms", Slices: 64, Owned: 64, Counts: &hub.CountsStatus{}, Hubs: []hub.HubStatus{{Hub: "a-hub-with-a-long-name", Slices: 64, MemoryBytes: 1 << 30, Started: now}}}
	names := []string{"berlin-spree", "frankfurt", "hamburg", "munich-isar", "vienna"}
	for _, name := range names {
		st.Sites = append(st.Sites, hub.SiteStatus{Site: name, Digests: 1e12, DigestRate: 1e6, Copies: 1e11, Bad: 3, Bans: 4, BannedUntil: &now, Offset: &offset, OffsetOf: names[0], Reported: &now, AnswerP99: 1234 * time.Microsecond})
		for _, other := range names {
			st.Matrix = append(st.Matrix, hub.PairStatus{First: name, Copy: other, Copies: 1e9, Delay: hub.PairDelay{P50: 31 * time.Microsecond}})
		}
	}
	for _, columns := range []int{0, 80, 60} {
		var out bytes.Buffer
		text := newTables(&out)
		text.columns = columns
		if err := writeStatus(text, st, now); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); columns > 0 && n > columns {
				t.Errorf("%d columns of %d: %s", n, columns, line)
			}
		}
		for _, want := range append(names, "clock ahead", "last heard", "no site has sent a window") {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%d columns: no %q in\n%s", columns, want, &out)
			}
		}
	}
}
