// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
)

// endless delivers one batch of packets again and again, with other sequence numbers each
// time.
type endless struct {
	exporttest.Wire
	batch capture.Batch
	left  int
}

func (e *endless) Next(b *capture.Batch) error {
	if e.left == 0 {
		return io.EOF
	}
	e.left--
	for i := range e.batch.Frames {
		number := e.batch.Data(i)[20+8+12:]
		binary.BigEndian.PutUint32(number, binary.BigEndian.Uint32(number)+uint32(len(e.batch.Frames)))
	}
	b.Buf, b.Frames, b.Interfaces, b.Sections = e.batch.Buf, e.batch.Frames, e.batch.Interfaces, e.batch.Sections
	return nil
}

// usualMessages are the template, and messages of NetFlow v9 with 28 records each.
func usualMessages(n int) *exporttest.Wire {
	w := &exporttest.Wire{AtOnce: 1 << 30, Datagrams: []exporttest.Datagram{datagramOf(routerA, 0, sets9(0, 1, usualSet))}}
	for i := range n {
		w.Datagrams = append(w.Datagrams, datagramOf(routerA, 1, sets9(uint32(i+1), 1, exporttest.Set(256, bytes.Repeat(exporttest.UsualRecord(exporttest.Flows[0]), 28)))))
	}
	return w
}

// TestAllocations reads records without allocating, except for the message with the template.
func TestAllocations(t *testing.T) {
	w := usualMessages(20)
	e := &endless{left: 1 << 30}
	if err := w.Next(&e.batch); err != nil {
		t.Fatal(err)
	}
	r := NewReader(e)
	var b records.Batch
	read := func() {
		for range 21 {
			if err := r.ReadBatch(&b); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 20000 { // until it remembers as much as it may
		read()
	}
	if n := testing.AllocsPerRun(10, read); n > 10 {
		t.Errorf("%v allocations for 560 records and a template", n)
	}
}

// BenchmarkV9 decodes records of NetFlow v9.
func BenchmarkV9(b *testing.B) {
	w := usualMessages(1000)
	e := &endless{left: 1 << 30}
	if err := w.Next(&e.batch); err != nil {
		b.Fatal(err)
	}
	r := NewReader(e)
	var batch records.Batch
	for n := 0; n < b.N; n += len(batch.Records) {
		if err := r.ReadBatch(&batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
}
