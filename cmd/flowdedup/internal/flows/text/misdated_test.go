// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// TestMisdated believes no time before 1980 and no end before the start: the time when the record
// came takes their place, else the record has none.
func TestMisdated(t *testing.T) {
	const zero, good, came = "1970-01-01T00:00:00.000", "2023-11-14T22:13:20.000", "2023-11-14T22:13:21.000"
	at := time.Date(2023, 11, 14, 22, 13, 20, 0, time.UTC).UnixNano()
	const second = int64(time.Second)
	for name, c := range map[string]struct {
		first, last, received string
		start, end            int64
		unread                records.Parts
		lost                  uint64
	}{
		"good":                        {good, came, came, at, at + second, 0, 0},
		"of 1970":                     {zero, zero, came, 0, 0, 0, 2},
		"of 1970, as numbers":         {"0", "0.000", came, 0, 0, 0, 2},
		"days of 1970":                {"1970-01-20T16:13:20.000", "1970-01-20T16:13:21.000", came, 0, 0, 0, 2},
		"of 1970, nothing else":       {zero, zero, "", 0, 0, records.PartTime, 2},
		"all of 1970":                 {zero, zero, zero, 0, 0, records.PartTime, 3},
		"the start of 1970":           {zero, good, came, 0, 0, 0, 1},
		"the end of 1970, came not":   {good, zero, "", 0, 0, records.PartTime, 1},
		"an end before the start":     {good, "2023-11-14T22:13:10.000", came, 0, 0, 0, 1},
		"the same, came not":          {good, "2023-11-14T22:13:10.000", "", 0, 0, records.PartTime, 1},
		"both of 1970, turned":        {"1970-01-01T00:16:40.000", "1970-01-01T00:03:20.000", came, 0, 0, 0, 2},
		"an end a little before":      {good, "2023-11-14T22:13:19.500", came, at, at - second/2, 0, 0},
		"in words":                    {"this evening", good, came, 0, 0, 0, 1},
		"in words, came not":          {"this evening", good, "", 0, 0, records.PartTime, 1},
		"1980":                        {"1980-01-02T00:00:00.000", "1980-01-02T00:00:00.000", "", 315619200 * second, 315619200 * second, 0, 0},
		"the end alone, with a start": {"", good, came, at, at, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			line := `{"first":"` + c.first + `","last":"` + c.last + `","received":"` + c.received + `","src4_addr":"192.0.2.1","dst4_addr":"198.51.100.7"}`
			line = strings.NewReplacer(`"first":"",`, "", `"received":"",`, "").Replace(line)
			all, _, n, err := readAll(t, line, Config{})
			if err != nil || len(all) != 1 {
				t.Fatalf("%v %+v", err, all)
			}
			r := &all[0]
			if r.Start != c.start || r.End != c.end || r.Unread != c.unread || n.Unread != c.lost {
				t.Errorf("%+v, %d unread, want %d to %d, %d unread", r, n.Unread, c.start, c.end, c.lost)
			}
			if c.received == came && r.Received != at+second {
				t.Errorf("came at %d", r.Received)
			}
		})
	}
	text := "start,end,srcaddr,dstaddr\n1700000000,1600000000,192.0.2.1,198.51.100.7\n"
	r, err := NewReader(strings.NewReader(text), "flows", Config{})
	if err != nil {
		t.Fatal(err)
	}
	var b records.Batch
	if err := r.ReadBatch(&b); err != nil {
		t.Fatal(err)
	}
	if u := r.AppendUnread(nil); len(u) != 1 || u[0].Field != "end" || u[0].Example != "1600000000" || u[0].Values != 1 {
		t.Errorf("%+v", u)
	}
}
