// SPDX-License-Identifier: Apache-2.0

package match

import (
	"math"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// TestWildClock has an exporter whose messages are of any time: what it says of its clock is
// never more than 64 bits hold together with the time of a record.
func TestWildClock(t *testing.T) {
	var c clock
	for _, received := range []int64{1, math.MaxInt64, math.MinInt64, 1_700_000_000_000_000_000} {
		for _, exported := range []int64{1, math.MaxInt64, 4_000_000_000_000_000_000, 1_600_000_000_000_000_000} {
			r := records.Record{Received: received, Exported: exported, Precision: time.Millisecond}
			c.see(&r)
			if o := c.offset(&r); o > mostBehind || o < -mostBehind-int64(time.Second) {
				t.Errorf("offset %d after received %d, exported %d", o, received, exported)
			}
		}
	}
	if c.n == 0 {
		t.Error("no message counts")
	}
}

// TestWildPairs has records whose times and counters are as far apart as numbers can be. They
// do not match, though their differences are small in 64 bits.
func TestWildPairs(t *testing.T) {
	plain := rec(1, client, server, 6, 0, 9)
	for name, far := range map[string]func(r *records.Record){
		"bytes":   func(r *records.Record) { r.Bytes = math.MaxUint64 },
		"packets": func(r *records.Record) { r.Packets = math.MaxUint64 },
		"start":   func(r *records.Record) { r.Start, r.End = math.MinInt64, math.MinInt64 },
	} {
		first, second := plain, rec(2, client, server, 6, 0, 9)
		first.Bytes, first.Packets = 0, 0
		second.Bytes, second.Packets = 0, 0
		if name == "start" {
			first.Start, first.End = math.MaxInt64, math.MaxInt64
		}
		far(&second)
		j := newJudge(t, Config{Memory: 1 << 16, Pairs: &Deltas{Start: time.Second, Duration: time.Second, Packets: 5, Bytes: 5}})
		verdicts, _ := j.Judge(&records.Batch{Records: []records.Record{first, second}})
		if verdicts[0] != records.Keep || verdicts[1] == records.Copy {
			t.Errorf("%s: %v", name, verdicts)
		}
	}
}

// TestWildSlices has records of any duration for slices of a flow: only records of about the
// same duration are of the same packets.
func TestWildSlices(t *testing.T) {
	at := func(start, end int64) *records.Record { return &records.Record{Start: start, End: end} }
	for _, c := range []struct {
		a, b *records.Record
		same bool
	}{
		{at(0, 1e9), at(5e9, 6e9), true},
		{at(0, 1e9), at(5e9, 9e9), false},
		{at(math.MinInt64, math.MaxInt64), at(0, 1), false}, // in 64 bits the first lasts -1 ns
		{at(math.MinInt64, 0), at(math.MaxInt64, 0), false},
	} {
		if got := sameSlice(c.a, c.b); got != c.same {
			t.Errorf("%+v and %+v: %t", *c.a, *c.b, got)
		}
	}
}
