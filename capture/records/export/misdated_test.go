// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/binary"
	"testing"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
)

// TestMisdated forgets times that cannot be, of each protocol: before 1980 in a message that is
// not, of 0, or an end before the start. It counts their records.
func TestMisdated(t *testing.T) {
	const now = 1700000000
	template := func(pairs ...uint32) []byte {
		fields := [][3]uint32{{8, 4}, {12, 4}}
		for i := 0; i < len(pairs); i += 2 {
			fields = append(fields, [3]uint32{pairs[i], pairs[i+1]})
		}
		return exporttest.Template(256, fields...)
	}
	ends := append(exporttest.Address("192.0.2.1"), exporttest.Address("192.0.2.2")...)
	long := func(n ...uint64) (p []byte) {
		for _, n := range n {
			p = binary.BigEndian.AppendUint64(p, n)
		}
		return p
	}
	ipfix := func(seconds uint32, template, times []byte) []byte {
		return exporttest.IPFIX(seconds, 0, 1, exporttest.Set(2, template), exporttest.Set(256, ends, times))
	}
	v9 := func(uptime uint32, times []byte) []byte {
		return append(append(exporttest.Head9(2, uptime, now, 0, 1), exporttest.Set(0, template(22, 4, 21, 4))...), exporttest.Set(256, ends, times)...)
	}
	old := func(first, last uint32) []exporttest.Flow {
		f := exporttest.Flows[0]
		f.First, f.Last = first, last
		return []exporttest.Flow{f}
	}
	ms, ofSeconds := template(152, 8, 153, 8), template(150, 4, 151, 4)
	for name, c := range map[string]struct {
		message []byte
		bad     bool
	}{
		"milliseconds":                {ipfix(now, ms, long(now*1000, now*1000+900)), false},
		"seconds for milliseconds":    {ipfix(now, ms, long(now, now+1)), true},
		"zeros":                       {ipfix(now, ms, long(0, 0)), true},
		"the start is 0":              {ipfix(now, ms, long(0, now*1000)), false}, // as if it were not there
		"an end before the start":     {ipfix(now, ms, long(now*1000, now*1000-5000)), true},
		"an end little before":        {ipfix(now, ms, long(now*1000, now*1000-500)), false},
		"out of range":                {ipfix(now, ms, long(1<<63, 1<<63)), true},
		"the start of 1970":           {ipfix(now, ofSeconds, exporttest.Words(1000, now)), true},
		"a second before":             {ipfix(now, ofSeconds, exporttest.Words(now, now-1)), false},
		"a clock that nobody set":     {ipfix(900, ms, long(890_000, 891_000)), false},
		"no times":                    {ipfix(now, template(), nil), false},
		"v9":                          {v9(6000, exporttest.Words(1000, 5000)), false},
		"v9, zeros":                   {v9(6000, exporttest.Words(0, 0)), true},
		"v9, from the start on":       {v9(6000, exporttest.Words(0, 5000)), false},
		"v9, an end before the start": {v9(60000, exporttest.Words(50000, 20000)), true},
		"v5":                          {exporttest.V5(6000, now, 0, 0, old(1000, 5000)...), false},
		"v5, zeros":                   {exporttest.V5(6000, now, 0, 0, old(0, 0)...), true},
		"v5, an end before the start": {exporttest.V5(60000, now, 0, 0, old(50000, 20000)...), true},
		"v1, zeros":                   {exporttest.V1(6000, now, 0, 52, old(0, 0)...), true},
		"v7, zeros":                   {exporttest.V7(6000, now, 0, 0, old(0, 0)...), true},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(&exporttest.Wire{Datagrams: []exporttest.Datagram{datagramOf(routerA, now*second, c.message)}})
			all := exporttest.ReadAll(t, r)
			if len(all) != 1 || len(all[0].Records) != 1 {
				t.Fatalf("%+v", all)
			}
			rec, n := &all[0].Records[0], r.Counts()
			if rec.Unread != 0 || (n.Misdated == 1) != c.bad || c.bad && rec.Start|rec.End != 0 {
				t.Errorf("%+v %+v", rec, n)
			}
			if !c.bad && name != "no times" && (rec.Start == 0 || rec.End == 0) {
				t.Errorf("%+v", rec)
			}
		})
	}
	var counts records.Counts
	wire := &exporttest.Wire{Datagrams: []exporttest.Datagram{datagramOf(routerA, now*second, ipfix(now, ms, long(now, now+1)))}}
	r := NewReader(wire)
	exporttest.ReadAll(t, r)
	if counts = r.Counts(); counts.MisdatedAt != (now+1)*1e6 {
		t.Errorf("%+v", counts)
	}
}
