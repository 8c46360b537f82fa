// SPDX-License-Identifier: Apache-2.0

package export

import (
	"math"
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

// TestWildNumbers has an exporter send numbers whose sums and products 64 bits do not hold.
func TestWildNumbers(t *testing.T) {
	const late = math.MaxInt64 - 1000
	for _, c := range []struct {
		x          values
		start, end int64
		wantStart  int64
		wantEnd    int64
	}{
		{values{duration: 500}, late, 0, late, late + 500},
		{values{duration: math.MaxInt64}, late, 0, late, math.MaxInt64},
		{values{duration: math.MaxInt64}, 0, 5, 5 - math.MaxInt64, 5},
	} {
		r := records.Record{Start: c.start, End: c.end}
		if c.x.finishTimes(&r); r.Start != c.wantStart || r.End != c.wantEnd {
			t.Errorf("a flow of %d ns from %d to %d: %d to %d", c.x.duration, c.start, c.end, r.Start, r.End)
		}
	}
	for _, c := range []struct {
		x    values
		want uint32
	}{
		{values{taken: 1, space: 99}, 100},
		{values{taken: 10, space: 95}, 10},
		{values{taken: math.MaxUint64, space: math.MaxUint32 - 1}, 1},
		{values{taken: math.MaxUint64 - 2, space: 7}, 1},
		{values{interval: math.MaxUint64}, math.MaxUint32},
	} {
		if got := c.x.sampling(); got != c.want {
			t.Errorf("%d of %d packets: interval %d, want %d", c.x.taken, c.x.space, got, c.want)
		}
	}
}

// TestWildDrift has packets of an exporter come at any times: by these it did not restart, nor
// did its clock agree.
func TestWildDrift(t *testing.T) {
	for _, c := range []struct {
		from, to int64
		positive bool
	}{{math.MinInt64 + 1, math.MaxInt64, true}, {math.MaxInt64, math.MinInt64 + 1, false}, {-5e18, 5e18, true}} {
		var l life
		l.start(&arrival{received: c.from, uptime: 5, hasUptime: true})
		if d := l.drift(&arrival{received: c.to, uptime: 5, hasUptime: true}); (d > 0) != c.positive || d.Abs() < 1<<62 {
			t.Errorf("from %d to %d the clock drifts by %v", c.from, c.to, d)
		}
	}
}
