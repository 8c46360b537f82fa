// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
)

// sets9 is a message of NetFlow v9 with sets.
func sets9(sequence, domain uint32, sets ...[]byte) []byte {
	return slices.Concat(append([][]byte{exporttest.Head9(1, 0, 900+sequence, sequence, domain)}, sets...)...)
}

var (
	usualSet  = exporttest.Set(0, exporttest.Template(256, exporttest.UsualTemplate...))
	otherSet  = exporttest.Set(0, exporttest.Template(257, [3]uint32{7, 2}, [3]uint32{11, 2}))
	usualData = exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows[:1]...))
	otherData = exporttest.Set(257, []byte{0, 1, 0, 2})
)

// listed returns the domain, the sequence number and the number of records of each batch.
func listed(all []records.Batch) (list []string) {
	for _, b := range all {
		list = append(list, fmt.Sprintf("%d/%d:%d", b.Raw[19], b.Raw[15], len(b.Records)))
	}
	return list
}

// TestHold keeps messages until their templates come.
func TestHold(t *testing.T) {
	minute := int64(time.Minute)
	cases := []struct {
		name        string
		datagrams   []exporttest.Datagram
		want        []string // domain/number:records
		untemplated uint64
	}{
		{"late template", []exporttest.Datagram{
			datagramOf(routerA, 0, sets9(0, 1, usualData)),
			datagramOf(routerA, 1, sets9(1, 1, usualData)),
			datagramOf(routerA, 2, sets9(2, 1, usualSet, usualData)),
			datagramOf(routerA, 3, sets9(3, 1, usualData)),
		}, []string{"1/2:1", "1/0:1", "1/1:1", "1/3:1"}, 0},
		{"another domain's template", []exporttest.Datagram{
			datagramOf(routerA, 0, sets9(0, 1, usualData)),
			datagramOf(routerA, 1, sets9(0, 2, usualSet)),
			datagramOf(routerB, 2, sets9(0, 1, usualSet)),
		}, []string{"2/0:0", "1/0:0", "1/0:0"}, 1},
		{"two templates", []exporttest.Datagram{
			datagramOf(routerA, 0, sets9(0, 1, usualData, otherData)),
			datagramOf(routerA, 1, sets9(1, 1, usualSet)),
			datagramOf(routerA, 2, sets9(2, 1, otherSet)),
		}, []string{"1/1:0", "1/2:0", "1/0:2"}, 0},
		{"template behind its data", []exporttest.Datagram{
			datagramOf(routerA, 0, sets9(0, 1, usualData, usualSet)),
			datagramOf(routerA, 1, sets9(1, 1, usualSet)),
		}, []string{"1/0:1", "1/1:0"}, 0},
		{"never", []exporttest.Datagram{
			datagramOf(routerA, 0, sets9(0, 1, otherData)),
			datagramOf(routerA, 1, sets9(1, 1, usualSet, usualData, otherData)),
			datagramOf(routerA, 1+6*minute, sets9(2, 1, usualData)), // the others have waited for too long
			datagramOf(routerA, 2+6*minute, sets9(3, 1, usualData, otherData)),
			datagramOf(routerA, 3+6*minute, sets9(4, 1, otherSet)),
			datagramOf(routerA, 4+6*minute, sets9(5, 1, otherData)),
		}, []string{"1/2:1", "1/0:0", "1/1:1", "1/3:1", "1/4:0", "1/5:1"}, 3},
	}
	for _, c := range cases {
		for _, atOnce := range []int{1, 3, 100} {
			t.Run(fmt.Sprintf("%s, %d at once", c.name, atOnce), func(t *testing.T) {
				r := NewReader(&exporttest.Wire{Datagrams: c.datagrams, AtOnce: atOnce})
				all := exporttest.ReadAll(t, r)
				if got := listed(all); !slices.Equal(got, c.want) {
					t.Errorf("%q, want %q", got, c.want)
				}
				n := r.Counts()
				if n.Untemplated != c.untemplated || n.Waiting != 0 || n.Messages != uint64(len(c.datagrams)) || n.Lost != 0 {
					t.Errorf("%+v", n)
				}
				if r.keptBytes != 0 || r.waiting.Len() != 0 {
					t.Errorf("%d bytes of %d messages wait", r.keptBytes, r.waiting.Len())
				}
			})
		}
	}
}

// TestHoldIsBounded floods a reader with messages without templates. All come out again.
func TestHoldIsBounded(t *testing.T) {
	const messages = 6000
	w := &exporttest.Wire{AtOnce: 100}
	for i := range messages {
		from := fmt.Sprintf("10.0.%d.%d:1", i>>6, i%7)
		w.Datagrams = append(w.Datagrams, datagramOf(from, int64(i), sets9(uint32(i), 1, exporttest.Set(uint16(256+i%5000), make([]byte, 4000)))))
	}
	r := NewReader(w)
	var b records.Batch
	n, most := 0, 0
	for r.ReadBatch(&b) == nil {
		n++
		most = max(most, r.keptBytes)
	}
	if n != messages || r.Counts().Untemplated != messages || r.keptBytes != 0 {
		t.Errorf("%d messages, %+v, %d bytes wait", n, r.Counts(), r.keptBytes)
	}
	if most > defaultMemory/4 {
		t.Errorf("%d bytes waited", most)
	}
}

// TestSourcesAreBounded floods a reader with exporters and templates.
func TestSourcesAreBounded(t *testing.T) {
	var fields [][3]uint32
	for range 12000 {
		fields = append(fields, [3]uint32{1, 1})
	}
	w := &exporttest.Wire{AtOnce: 100}
	for i := range 95 {
		from := fmt.Sprintf("10.0.%d.%d:1", i>>8, i&255)
		w.Datagrams = append(w.Datagrams, datagramOf(from, 0, sets9(uint32(i), 1, exporttest.Set(0, exporttest.Template(uint16(256+i), fields...)))))
	}
	r := NewReader(w)
	var b records.Batch
	for r.ReadBatch(&b) == nil {
		if r.sources.bytes > r.sources.most {
			t.Fatalf("%d bytes of %d sources", r.sources.bytes, len(r.sources.byKey))
		}
	}
	total := 0
	for s := range r.sources.backward {
		total += s.cost()
	}
	if total != r.sources.bytes || r.Counts().Forgotten == 0 {
		t.Errorf("%d bytes, counted %d: %+v", total, r.sources.bytes, r.Counts())
	}
	s := &source{templates: map[uint16]*template{}}
	for i := range 5000 {
		s.messages++
		s.learn(uint16(256+i), newTemplate([]field{{id: 1, length: 1}}, 0, false, true))
	}
	if len(s.templates) != maxTemplates || s.fields != maxTemplates || s.templates[256+4999] == nil || s.templates[256] != nil {
		t.Errorf("%d templates of %d fields", len(s.templates), s.fields)
	}
}

// TestKnownSources floods a reader with made-up exporters of a few messages each. One that sent
// more stays known, though it sends seldom, and all that is remembered is bounded.
func TestKnownSources(t *testing.T) {
	const memory, rounds, flood = 1 << 20, 30, 400
	const honest = "192.0.2.1:1"
	template := exporttest.Set(0, exporttest.Template(256, [3]uint32{8, 4}, [3]uint32{12, 4}, [3]uint32{1, 4}))
	data := exporttest.Set(256, []byte{10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0, 9})
	w := &exporttest.Wire{AtOnce: 100}
	for i := range known {
		w.Datagrams = append(w.Datagrams, datagramOf(honest, int64(i), sets9(uint32(i), 1, template, data)))
	}
	for i := range rounds {
		at := int64(known + i)
		w.Datagrams = append(w.Datagrams, datagramOf(honest, at, sets9(uint32(known+i), 1, data)))
		for n := range flood {
			from := fmt.Sprintf("10.%d.%d.%d:1", i, n>>8, n&255)
			w.Datagrams = append(w.Datagrams, datagramOf(from, at, sets9(uint32(n), 1, template, data)))
		}
	}
	r := NewReader(w)
	r.Limit(memory)
	var b records.Batch
	got := 0
	for r.ReadBatch(&b) == nil {
		if b.From.String() == honest {
			got += len(b.Records)
		}
		if r.Bytes() > memory {
			t.Fatalf("%d bytes", r.Bytes())
		}
	}
	if want := known + rounds; got != want || r.Counts().Forgotten == 0 {
		t.Errorf("%d records, want %d: %+v", got, want, r.Counts())
	}
}

// TestTemplatesAreBounded has a single exporter send more templates than memory has room for:
// the used templates stay.
func TestTemplatesAreBounded(t *testing.T) {
	const memory = 1 << 20
	template := exporttest.Set(0, exporttest.Template(256, [3]uint32{8, 4}, [3]uint32{12, 4}, [3]uint32{1, 4}))
	data := exporttest.Set(256, []byte{10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0, 9})
	w := &exporttest.Wire{AtOnce: 1}
	w.Datagrams = append(w.Datagrams, datagramOf("192.0.2.1:1", 0, sets9(0, 1, template)))
	const floods = 200
	for i := range uint32(floods) {
		fields := make([][3]uint32, 500)
		for f := range fields {
			fields[f] = [3]uint32{i, 1}
		}
		flood := exporttest.Set(0, exporttest.Template(uint16(300+i), fields...))
		w.Datagrams = append(w.Datagrams, datagramOf("192.0.2.1:1", int64(i), sets9(i+1, 1, flood, data)))
	}
	r := NewReader(w)
	r.Limit(memory)
	var b records.Batch
	got := 0
	for r.ReadBatch(&b) == nil {
		got += len(b.Records)
		if r.Bytes() > memory {
			t.Fatalf("%d bytes", r.Bytes())
		}
	}
	if got != floods {
		t.Errorf("%d records, want %d: %+v", got, floods, r.Counts())
	}
}

// TestState goes on with the templates of a run before.
func TestState(t *testing.T) {
	options := slices.Concat([]byte{1, 4, 0, 4, 0, 8}, exporttest.Fields([3]uint32{1, 4}, [3]uint32{48, 1}, [3]uint32{50, 2}), []byte{0, 0})
	first := []exporttest.Datagram{
		datagramOf(routerA, 0, sets9(0, 1, usualSet, exporttest.Set(1, options))),
		datagramOf(routerA, 1, sets9(1, 1, exporttest.Set(260, exporttest.Words(0), []byte{9, 0, 100}))),
		datagramOf(routerB, 2, exporttest.IPFIX(900, 0, 3, exporttest.Set(2, exporttest.Template(256, exporttest.UsualTemplate...)))),
		datagramOf(routerB, 3, exporttest.IPFIX(900, 0, 4, exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows...)))), // waits, and is given up
	}
	r := NewReader(&exporttest.Wire{Datagrams: first})
	exporttest.ReadAll(t, r)
	var state bytes.Buffer
	if err := r.Save(&state); err != nil {
		t.Fatal(err)
	}
	saved := state.String()
	then := []exporttest.Datagram{
		datagramOf(routerA, 0, sets9(2, 1, usualData)),
		datagramOf(routerB, 1, exporttest.IPFIX(900, 0, 3, exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows...)))),
	}
	r = NewReader(&exporttest.Wire{Datagrams: then})
	if err := r.Restore(&state); err != nil {
		t.Fatal(err)
	}
	all := exporttest.ReadAll(t, r)
	if len(all) != 2 || len(all[0].Records) != 1 || len(all[1].Records) != 3 || r.Counts().Templates != 0 {
		t.Fatalf("%d batches, %+v", len(all), r.Counts())
	}
	if s := all[0].Records[0].Sampling; s != 100 {
		t.Errorf("sampling %d", s)
	}
	var again bytes.Buffer
	if err := r.Save(&again); err != nil || again.Len() != len(saved) {
		t.Errorf("%v: saved again, it has %d bytes, not %d", err, again.Len(), len(saved))
	}
	for _, bad := range []string{"", "{", saved[:len(saved)/2], strings.Replace(saved, `"version":1`, `"version":2`, 1),
		strings.Replace(saved, `"id":256`, `"id":3`, 1), strings.Replace(saved, "[8,4,0]", "[8,65536,0]", 1)} {
		r := NewReader(&exporttest.Wire{})
		if err := r.Restore(strings.NewReader(bad)); !errors.Is(err, ErrState) {
			t.Errorf("%.60q: %v", bad, err)
		}
		if len(r.sources.byKey) != 0 {
			t.Errorf("%.60q: something was taken in", bad)
		}
	}
}
