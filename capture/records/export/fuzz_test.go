// SPDX-License-Identifier: Apache-2.0

package export

import (
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
)

// fuzzMessages reads any two messages. Records must lie in their messages, one behind the
// other, and every message must come out once.
func fuzzMessages(f *testing.F, seeds ...[]byte) {
	for i := range seeds {
		f.Add(seeds[i], seeds[(i+1)%len(seeds)])
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		if len(first)+len(second) > 60000 {
			return
		}
		r := NewReader(&exporttest.Wire{AtOnce: 3, Datagrams: []exporttest.Datagram{
			datagramOf(routerA, 1, first), datagramOf(routerA, 2, second), datagramOf(routerA, 3, first),
		}})
		n, all := uint64(0), exporttest.ReadAll(t, r)
		for i := range all {
			checkBatch(t, &all[i])
			n += uint64(len(all[i].Records))
		}
		c := r.Counts()
		if c.Records != n || c.Messages != uint64(len(all)) || c.Messages+c.Foreign != 3 || c.Waiting != 0 || r.keptBytes != 0 {
			t.Fatalf("%d batches of %d records: %+v", len(all), n, c)
		}
	})
}

// checkBatch holds the records of a batch against its message.
func checkBatch(t testing.TB, b *records.Batch) {
	t.Helper()
	at := 0
	for i := range b.Records {
		r := &b.Records[i]
		if r.Offset < at || r.Length <= 0 || r.Offset+r.Length > len(b.Raw) {
			t.Fatalf("record %d: %d bytes at %d of %d, behind %d", i, r.Length, r.Offset, len(b.Raw), at)
		}
		at = r.Offset + r.Length
		if r.Source.Is4In6() || r.Destination.Is4In6() || r.Start < 0 && b.Kind != records.NetFlow5 && b.Kind != records.NetFlow9 && b.Kind != records.IPFIX {
			t.Fatalf("record %d: %+v", i, r)
		}
	}
}

func FuzzNetFlow5(f *testing.F) {
	fuzzMessages(f, exporttest.V5(1000, 900, 5, 1, exporttest.Flows...))
}

func FuzzNetFlow9(f *testing.F) {
	options := slices.Concat([]byte{1, 4, 0, 4, 0, 8}, exporttest.Fields([3]uint32{1, 4}, [3]uint32{48, 1}, [3]uint32{50, 2}), []byte{0, 0})
	fuzzMessages(f, sets9(1, 0, usualSet, exporttest.Set(1, options)), sets9(2, 0, usualData, exporttest.Set(260, make([]byte, 7))), sets9(3, 0, otherSet, otherData))
}

func FuzzIPFIX(f *testing.F) {
	variable := exporttest.Template(257, [][3]uint32{{8, 4}, {82, 0xffff}, {7, 2}, {1, 8, 29305}, {160, 8}, {22, 4}, {305, 4}, {306, 4}}...)
	options := slices.Concat([]byte{1, 4, 0, 2, 0, 1}, exporttest.Fields([3]uint32{302, 8}, [3]uint32{34, 4}))
	fuzzMessages(f,
		exporttest.IPFIX(900, 0, 1, exporttest.Set(2, variable), exporttest.Set(3, options)),
		exporttest.IPFIX(901, 0, 1, exporttest.Set(257, make([]byte, 43)), exporttest.Set(260, make([]byte, 12))),
		exporttest.IPFIX(902, 0, 1, exporttest.Set(2, []byte{1, 0, 0, 0}), exporttest.Set(3, []byte{0, 3, 0, 0})))
}

func FuzzSFlow(f *testing.F) {
	one := exporttest.Flows[0]
	fuzzMessages(f,
		exporttest.SFlow("203.0.113.9", 4, 1, 100, exporttest.RawSample(one, 512), exporttest.Block(2, exporttest.Words(1, 3, 0))),
		exporttest.SFlow("2001:db8::9", 4, 1, 100, exporttest.IPSample(one, 64)))
}
