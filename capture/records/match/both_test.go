// SPDX-License-Identifier: Apache-2.0

package match

import (
	"bytes"
	"testing"

	"github.com/flowdedup/flowdedup/capture/records"
)

// counted gives a record counters of packets and bytes, and of the reverse direction. With two numbers
// the record counts the sums of both directions.
func counted(r records.Record, n ...uint64) records.Record {
	r.Packets, r.Bytes, r.Both = n[0], n[1], true
	if len(n) > 2 {
		r.ReversePackets, r.ReverseBytes = n[2], n[3]
	}
	return r
}

// TestBothCounts counts both directions, and matches records one to one by their sums.
func TestBothCounts(t *testing.T) {
	there, back := rec(1, client, server, 6, 0, 9), rec(2, server, client, 6, 0, 9)
	for name, c := range map[string]struct {
		second records.Record
		copies uint64
	}{
		"the other way round": {counted(back, 5, 640, 5, 5000), 1},
		"a sum":               {counted(back, 10, 5640), 1},
		"fewer bytes":         {counted(back, 5, 640, 5, 4000), 0},
	} {
		j := newJudge(t, Config{MayBiflow: true, Pairs: &Deltas{}, Memory: 1 << 16})
		j.Judge(&records.Batch{Records: []records.Record{counted(there, 5, 5000, 5, 640), c.second}})
		n, p := j.Counts(), j.Points()[0]
		if n.Copies != c.copies || n.Bytes != 5640+c.second.TotalBytes() || p.Bytes != 5640 || p.Packets != 10 || j.Key().String() != "biflow" {
			t.Errorf("%s: %+v %+v, key %v", name, n, p, j.Key())
		}
	}
}

// TestMayBiflow has the key take either direction from the first record that reports both, if it
// may, and in a judge that resumes.
func TestMayBiflow(t *testing.T) {
	all := []records.Record{
		rec(1, client, server, 6, 0, 9), rec(2, server, client, 6, 0, 9), // each direction of another exporter
		counted(rec(3, client, server, 6, 0, 9), 5, 5000, 5, 640), rec(4, server, client, 6, 0, 9),
	}
	for _, may := range []bool{false, true} {
		cfg := Config{MayBiflow: may, Memory: 1 << 16}
		j := newJudge(t, cfg)
		j.Judge(&records.Batch{Records: all[:2]})
		if j.Key().Biflow || j.Counts().Copies != 0 {
			t.Errorf("may %v: key %v, %+v, before a record of both", may, j.Key(), j.Counts())
		}
		for _, r := range all[2:] {
			j.Judge(&records.Batch{Records: []records.Record{r}})
		}
		if j.Key().Biflow != may || j.Counts().Copies != 2 {
			t.Errorf("may %v: key %v, %+v", may, j.Key(), j.Counts())
		}
		var flows bytes.Buffer
		state, err := j.Save(&flows)
		if err != nil {
			t.Fatal(err)
		}
		resumed := newJudge(t, cfg)
		if err := resumed.Restore(state, &flows, 1<<20); err != nil || resumed.Key() != j.Key() {
			t.Errorf("may %v: %v, key %v", may, err, resumed.Key())
		}
	}
}

// TestEnlarge merges the counters of copies, each direction for itself, whichever end a copy
// calls the source.
func TestEnlarge(t *testing.T) {
	there, back := rec(1, client, server, 6, 0, 9), rec(2, server, client, 6, 0, 9)
	one := func(r records.Record, packets, bytes uint64) records.Record {
		r.Packets, r.Bytes = packets, bytes
		return r
	}
	for name, c := range map[string]struct{ to, r, want records.Record }{
		"one direction":            {one(there, 5, 90), one(there, 4, 100), one(there, 5, 100)},
		"both":                     {counted(there, 5, 5000, 5, 640), counted(there, 6, 4000, 4, 700), counted(there, 6, 5000, 5, 700)},
		"both, the other way":      {counted(there, 5, 5000, 5, 640), counted(back, 6, 700, 4, 6000), counted(there, 5, 6000, 6, 700)},
		"the answer":               {one(there, 5, 5000), one(back, 4, 640), counted(there, 5, 5000, 4, 640)},
		"a sum that is greater":    {counted(there, 5, 5000, 5, 640), counted(back, 11, 6000), counted(there, 11, 6000)},
		"a sum that is less":       {counted(there, 5, 5000, 5, 640), counted(back, 10, 5640), counted(there, 5, 5000, 5, 640)},
		"sums":                     {counted(there, 5, 5000), counted(back, 6, 4000), counted(there, 6, 5000)},
		"parts greater than a sum": {counted(there, 10, 5640), counted(back, 5, 700, 5, 5000), counted(there, 5, 5000, 5, 700)},
		"translated":               {one(there, 5, 90), one(rec(2, "192.0.2.77:999", server, 6, 0, 9), 4, 100), one(there, 5, 100)},
	} {
		got := c.to
		if enlarge(&got, &c.r); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
