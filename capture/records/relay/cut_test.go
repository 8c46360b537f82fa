// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/export"
	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
	"github.com/flowdedup/flowdedup/capture/records/relay"
)

const router = "203.0.113.1:2055"

// read decodes messages.
func read(t testing.TB, messages ...[]byte) ([]records.Batch, records.Counts) {
	t.Helper()
	w := &exporttest.Wire{}
	for _, m := range messages {
		w.Datagrams = append(w.Datagrams, exporttest.Datagram{From: router, Data: m})
	}
	r := export.NewReader(w)
	return exporttest.ReadAll(t, r), r.Counts()
}

// readLast decodes a message behind others, and returns its batch: nil if it is none.
func readLast(t testing.TB, before [][]byte, message []byte) *records.Batch {
	t.Helper()
	all, _ := read(t, append(before[:len(before):len(before)], message)...)
	for i := range slices.Backward(all) {
		if bytes.Equal(all[i].Raw, message) {
			return &all[i]
		}
	}
	return nil
}

// kept returns the records of a batch that are no copies, wherever they stand.
func kept(b *records.Batch, verdicts []records.Verdict) (left []records.Record) {
	for i, r := range b.Records {
		if r.Offset, r.Length = 0, 0; verdicts == nil || verdicts[i] != records.Copy {
			left = append(left, r)
		}
	}
	return left
}

// check takes copies out of a message, and decodes the rest.
func check(t testing.TB, before [][]byte, b *records.Batch, verdicts []records.Verdict) []byte {
	t.Helper()
	out := relay.NewCutter().Cut([]byte("before"), b, verdicts)
	if string(out[:6]) != "before" {
		t.Fatalf("%q", out)
	}
	out = out[6:]
	want := kept(b, verdicts)
	if len(want) == len(b.Records) {
		if !bytes.Equal(out, b.Raw) {
			t.Fatalf("nothing was taken out of\n%x, and it became\n%x", b.Raw, out)
		}
		return out
	}
	if len(out) == 0 {
		if len(want) > 0 {
			t.Fatalf("%d records of\n%x are lost", len(want), b.Raw)
		}
		return out
	}
	left := readLast(t, before, out)
	if left == nil {
		t.Fatalf("%v of\n%x left\n%x, which is no message", verdicts, b.Raw, out)
	}
	if got := kept(left, nil); !slices.Equal(got, want) {
		t.Fatalf("%v of\n%x left\n%x with\n%+v, not\n%+v", verdicts, b.Raw, out, got, want)
	}
	return out
}

// all lists the ways to judge n records.
func all(n int, yield func([]records.Verdict) bool) {
	for bits := range 1 << n {
		v := make([]records.Verdict, n)
		for i := range v {
			v[i] = records.Verdict(bits >> i & 1)
		}
		if !yield(v) {
			return
		}
	}
}

// seeds are messages of each protocol, the templates before the message that they are for.
func seeds() map[string][][]byte {
	usual := exporttest.Template(256, exporttest.UsualTemplate...)
	data := exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows...))
	variable := exporttest.Template(257, [][3]uint32{{8, 4}, {82, 0xffff}, {7, 2}}...)
	tiny := exporttest.Template(258, [3]uint32{4, 1})
	options := slices.Concat([]byte{1, 4, 0, 4, 0, 8}, exporttest.Fields([3]uint32{1, 4}, [3]uint32{48, 1}, [3]uint32{50, 2}), []byte{0, 0})
	texts := exporttest.Set(257, []byte("\xc0\x00\x02\x01\x03abc\x00\x50\xc0\x00\x02\x02\xff\x00\x01x\x00\x51\xc0\x00\x02\x03\x00\x00\x52"))
	f := exporttest.Flows[0]
	head9 := func(count uint16) []byte { return exporttest.Head9(count, 0, 900, 7, 1) }
	return map[string][][]byte{
		"v5":                     {exporttest.V5(0, 900, 5, 1, exporttest.Flows...)},
		"v1":                     {exporttest.V1(0, 900, 5, 48, exporttest.Flows...)},
		"v1 with long records":   {exporttest.V1(0, 900, 5, 52, exporttest.Flows...)},
		"v7":                     {exporttest.V7(0, 900, 5, 1, exporttest.Flows...)},
		"sFlow":                  {exporttest.SFlow("203.0.113.9", 4, 1, 100, exporttest.RawSample(f, 512), exporttest.Block(2, exporttest.Words(1, 3, 0)), exporttest.IPSample(f, 64))},
		"sFlow of an IPv6 agent": {exporttest.SFlow("2001:db8::9", 4, 1, 100, exporttest.RawSample(f, 512), exporttest.IPSample(f, 64))},
		"v9":                     {slices.Concat(head9(1), exporttest.Set(0, usual)), slices.Concat(head9(6), data, data)},
		"v9 with its template":   {slices.Concat(head9(4), exporttest.Set(0, usual), data)},
		"v9 that counts sets":    {slices.Concat(head9(1), exporttest.Set(0, usual)), slices.Concat(head9(2), data, data)},
		"v9 with options":        {slices.Concat(head9(2), exporttest.Set(0, usual), exporttest.Set(1, options)), slices.Concat(head9(5), data, exporttest.Set(260, make([]byte, 7)), data[:4], data[4:])},
		"v9 with zeros behind":   {slices.Concat(head9(1), exporttest.Set(0, usual)), slices.Concat(head9(3), data, make([]byte, 100))},
		"v9 with rubbish behind": {slices.Concat(head9(1), exporttest.Set(0, usual)), slices.Concat(head9(3), data, []byte("\x000rubbish"))},
		"v9 of tiny records":     {slices.Concat(head9(1), exporttest.Set(0, tiny)), slices.Concat(head9(4), exporttest.Set(258, []byte{6, 17, 1, 0}))},
		"v9 without template":    {slices.Concat(head9(1), exporttest.Set(0, usual)), slices.Concat(head9(4), data, exporttest.Set(999, []byte("abcd")))},
		"IPFIX":                  {exporttest.IPFIX(900, 0, 1, exporttest.Set(2, usual, variable)), exporttest.IPFIX(901, 0, 1, data, texts)},
		"IPFIX with a lie":       {exporttest.IPFIX(900, 0, 1, exporttest.Set(2, usual)), append(exporttest.IPFIX(901, 0, 1, data, []byte{1, 0, 255, 255}), "behind"...)},
	}
}

// TestCut takes every choice of records out of each message.
func TestCut(t *testing.T) {
	for name, messages := range seeds() {
		t.Run(name, func(t *testing.T) {
			before, message := messages[:len(messages)-1], messages[len(messages)-1]
			b := readLast(t, before, message)
			if b == nil || len(b.Records) == 0 {
				t.Fatal("no records")
			}
			all(len(b.Records), func(v []records.Verdict) bool {
				check(t, before, b, v)
				return true
			})
		})
	}
}

// TestCounts compares the numbers in headers with the remaining records.
func TestCounts(t *testing.T) {
	copies := func(n int, of ...int) []records.Verdict {
		v := make([]records.Verdict, n)
		for _, i := range of {
			v[i] = records.Copy
		}
		return v
	}
	cases := []struct {
		name     string
		verdicts []records.Verdict
		count    uint16
		size     int // by which the message is shorter
	}{
		{"v5", copies(3, 1), 2, 48},
		{"v9", copies(6, 0), 5, 44},        // 45, and other padding
		{"v9", copies(6, 0, 1, 2), 3, 140}, // a set
		{"v9 that counts sets", copies(6, 0), 2, 44},
		{"v9 that counts sets", copies(6, 3, 4, 5), 1, 140},
		{"v9 with its template", copies(3, 0, 1, 2), 1, 140},
		{"IPFIX", copies(6, 3), 0, 11}, // 10, and the padding
	}
	for _, c := range cases {
		messages := seeds()[c.name]
		before, message := messages[:len(messages)-1], messages[len(messages)-1]
		out := check(t, before, readLast(t, before, message), c.verdicts)
		if len(message)-len(out) != c.size {
			t.Errorf("%s: %d bytes shorter, not %d", c.name, len(message)-len(out), c.size)
		}
		want := c.count
		if c.name == "IPFIX" {
			want = uint16(len(out))
		}
		if got := binary.BigEndian.Uint16(out[2:]); got != want {
			t.Errorf("%s without %v: the header says %d, not %d", c.name, c.verdicts, got, want)
		}
	}
}

// TestSequence leaves no gap behind for what was taken out, and every gap that was there.
func TestSequence(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	usual := exporttest.Template(256, exporttest.UsualTemplate...)
	streams := map[string]func(i int, sequence uint32) (message []byte, next uint32){
		"v5": func(i int, sequence uint32) ([]byte, uint32) {
			return exporttest.V5(uint32(i)*1000, 900+uint32(i), 0, sequence, exporttest.Flows...), sequence + 3
		},
		"v9": func(i int, sequence uint32) ([]byte, uint32) {
			return slices.Concat(exporttest.Head9(3, uint32(i)*1000, 900+uint32(i), sequence, 1), exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows...))), sequence + 1
		},
		"IPFIX": func(i int, sequence uint32) ([]byte, uint32) {
			return exporttest.IPFIX(900+uint32(i), sequence, 1, exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows...))), sequence + 3
		},
		"IPFIX of softflowd": func(i int, sequence uint32) ([]byte, uint32) { // its numbers begin with 0, and count what the message has
			n := 1 + i*i%3
			sets := exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows[:n]...))
			if i == 0 {
				sets = append(exporttest.Set(2, usual), sets...)
			}
			sequence += uint32(n)
			return exporttest.IPFIX(900+uint32(i), sequence+5, 1, sets), sequence
		},
		"sFlow": func(i int, sequence uint32) ([]byte, uint32) {
			return exporttest.SFlow("203.0.113.9", 4, sequence, uint32(i)*1000, exporttest.RawSample(exporttest.Flows[0], 512)), sequence + 1
		},
	}
	first := map[string][]byte{
		"v9":    slices.Concat(exporttest.Head9(1, 0, 899, 1<<32-6, 1), exporttest.Set(0, usual)),
		"IPFIX": exporttest.IPFIX(899, 1<<32-5, 1, exporttest.Set(2, usual)),
	}
	for name, make9 := range streams {
		var in [][]byte
		if first[name] != nil {
			in = append(in, first[name])
		}
		sequence := uint32(1<<32 - 5)
		for i := range 200 {
			m, next := make9(i, sequence)
			if i%50 != 25 {
				in = append(in, m) // the others are lost
			}
			sequence = next
		}
		all, before := read(t, in...)
		cutter := relay.NewCutter()
		var out [][]byte
		left := uint64(0)
		for i := range all {
			v := make([]records.Verdict, len(all[i].Records))
			for j := range v {
				if rng.IntN(2) == 0 || i%7 == 3 {
					v[j] = records.Copy
				} else {
					left++
				}
			}
			if m := cutter.Cut(nil, &all[i], v); len(m) > 0 {
				out = append(out, m)
			}
		}
		_, after := read(t, out...)
		if before.Lost == 0 || after.Lost != before.Lost || after.Restarts != 0 || after.Records != left || len(out) == len(in) {
			t.Errorf("%s: %d of %d messages: %+v became %+v", name, len(out), len(in), before, after)
		}
	}
}

// TestRestart begins again with the numbers of an exporter that has started again.
func TestRestart(t *testing.T) {
	in := [][]byte{
		exporttest.V5(9e6, 900, 0, 500, exporttest.Flows...), exporttest.V5(9001e3, 901, 0, 503, exporttest.Flows...),
		exporttest.V5(100, 990, 0, 0, exporttest.Flows...), exporttest.V5(1100, 991, 0, 3, exporttest.Flows...),
	}
	batches, _ := read(t, in...)
	cutter := relay.NewCutter()
	var got []uint32
	for i := range batches {
		got = append(got, binary.BigEndian.Uint32(cutter.Cut(nil, &batches[i], []records.Verdict{0, records.Copy, 0})[16:]))
	}
	if want := []uint32{500, 502, 0, 2}; !slices.Equal(got, want) {
		t.Errorf("%d, want %d", got, want)
	}
}

// TestAllocations cuts messages without allocating.
func TestAllocations(t *testing.T) {
	messages := seeds()["v9"]
	b := readLast(t, messages[:1], messages[1])
	cutter, dst := relay.NewCutter(), make([]byte, 0, 1<<16)
	v := []records.Verdict{0, 1, 0, 0, 1, 0}
	if n := testing.AllocsPerRun(100, func() { dst = cutter.Cut(dst[:0], b, v) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzCut decodes any two messages, takes records out of the second, and finds exactly the
// others in the rest.
func FuzzCut(f *testing.F) {
	for _, messages := range seeds() {
		f.Add(messages[0], messages[len(messages)-1], uint64(0b0101_0110))
	}
	f.Fuzz(func(t *testing.T, first, second []byte, copies uint64) {
		if len(first)+len(second) > 60000 || bytes.Equal(first, second) {
			return
		}
		w := &exporttest.Wire{Datagrams: []exporttest.Datagram{{From: router, Data: first}, {From: router, Data: second}}}
		r := export.NewReader(w)
		for {
			var b records.Batch
			err := r.ReadBatch(&b)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			v := make([]records.Verdict, len(b.Records))
			for i := range v {
				v[i] = records.Verdict(copies >> (i % 64) & 1)
			}
			if bytes.Equal(b.Raw, second) {
				check(t, [][]byte{first}, &b, v)
			}
		}
	})
}
