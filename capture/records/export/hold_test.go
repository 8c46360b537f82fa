package export

import (
	"fmt"
	"slices"
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

// told lists the domain and the sequence number of each batch, and its number of records.
func told(all []records.Batch) (list []string) {
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
				if got := told(all); !slices.Equal(got, c.want) {
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
	if most > maxKept {
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
		if r.fields > maxFields || r.sources.Len() > maxSources {
			t.Fatalf("%d fields of %d sources", r.fields, r.sources.Len())
		}
	}
	total := 0
	for _, s := range r.sources.Backward {
		total += s.fields
	}
	if total != r.fields || r.Counts().Forgotten == 0 {
		t.Errorf("%d fields, counted %d: %+v", total, r.fields, r.Counts())
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
