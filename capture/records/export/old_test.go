// SPDX-License-Identifier: Apache-2.0

package export

import (
	"net/netip"
	"testing"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
)

// TestOld expects the same records of NetFlow v1, v5 and v7 for the same flows.
func TestOld(t *testing.T) {
	read := func(data []byte) ([]records.Batch, records.Counts) {
		r := NewReader(&exporttest.Wire{Datagrams: []exporttest.Datagram{{From: "203.0.113.1:2055", Data: data}}})
		return exporttest.ReadAll(t, r), r.Counts()
	}
	whole := func(batches []records.Batch) (all []records.Record) {
		for _, r := range batches[0].Records {
			r.Offset, r.Length, r.Sampling, r.Point.Domain = 0, 0, 0, 0
			all = append(all, r)
		}
		return all
	}
	five, _ := read(exporttest.V5(5000, 1700000000, 7, 1, exporttest.Flows...))
	want := whole(five)
	for name, c := range map[string]struct {
		data []byte
		kind records.Kind
	}{
		"v1":                   {exporttest.V1(5000, 1700000000, 7, 48, exporttest.Flows...), records.NetFlow1},
		"v1 with long records": {exporttest.V1(5000, 1700000000, 7, 52, exporttest.Flows...), records.NetFlow1},
		"v7":                   {exporttest.V7(5000, 1700000000, 7, 1, exporttest.Flows...), records.NetFlow7},
	} {
		got, counts := read(c.data)
		if len(got) != 1 || got[0].Kind != c.kind || counts.Undecodable+counts.Lost != 0 || len(whole(got)) != len(want) {
			t.Fatalf("%s: %+v %+v", name, got, counts)
		}
		for i, r := range whole(got) {
			if r != want[i] {
				t.Errorf("%s: %+v, want %+v", name, r, want[i])
			}
		}
		for _, cut := range [][]byte{c.data[:len(c.data)-1], c.data[:16], append(c.data[:len(c.data):len(c.data)], 0)} {
			if got, counts := read(cut); len(got) > 0 || counts.Foreign != 1 {
				t.Errorf("%s: %d bytes of %d are a message: %+v", name, len(cut), len(c.data), counts)
			}
		}
	}
}

// TestOldSequence counts missing records between messages of v7, which number them, and none
// between messages of v1.
func TestOldSequence(t *testing.T) {
	f := exporttest.Flows[0]
	from := func(data []byte) exporttest.Datagram {
		return exporttest.Datagram{From: netip.MustParseAddrPort("203.0.113.1:2055").String(), Data: data}
	}
	w := &exporttest.Wire{Datagrams: []exporttest.Datagram{
		from(exporttest.V7(5000, 1700000000, 0, 100, f, f)), from(exporttest.V7(6000, 1700000001, 0, 102, f, f)), from(exporttest.V7(7000, 1700000002, 0, 107, f)),
		from(exporttest.V1(5000, 1700000000, 0, 48, f)), from(exporttest.V1(7000, 1700000002, 0, 48, f)),
	}}
	r := NewReader(w)
	exporttest.ReadAll(t, r)
	if c := r.Counts(); c.Lost != 3 || c.Records != 7 || c.Restarts != 0 {
		t.Errorf("%+v", c)
	}
}
