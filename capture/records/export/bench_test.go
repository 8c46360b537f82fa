// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/netsampler/goflow2/v2/decoders/netflow"

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
func usualMessages(t testing.TB, n int) (*exporttest.Wire, []exporttest.Datagram) {
	w := &exporttest.Wire{AtOnce: 1 << 30, Datagrams: []exporttest.Datagram{datagramOf(routerA, 0, sets9(0, 1, usualSet))}}
	for i := range n {
		w.Datagrams = append(w.Datagrams, datagramOf(routerA, 1, sets9(uint32(i+1), 1, exporttest.Set(256, bytes.Repeat(exporttest.UsualRecord(exporttest.Flows[0]), 28)))))
	}
	return w, slices.Clone(w.Datagrams)
}

// TestAllocations reads records without allocating: only the one message of a template may.
func TestAllocations(t *testing.T) {
	w, _ := usualMessages(t, 20)
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
	w, all := usualMessages(b, 1000)
	e := &endless{left: 1 << 30}
	if err := w.Next(&e.batch); err != nil {
		b.Fatal(err)
	}
	b.Run("ours", func(b *testing.B) {
		r := NewReader(e)
		var batch records.Batch
		for n := 0; n < b.N; n += len(batch.Records) {
			if err := r.ReadBatch(&batch); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
	})
	b.Run("goflow2", func(b *testing.B) {
		templates := netflow.CreateTemplateSystem()
		for n := 0; n < b.N; n += 28 {
			d := all[n/28%len(all)]
			if n == 0 {
				d = all[0]
			}
			var v9 netflow.NFv9Packet
			if err := netflow.DecodeMessageVersion(bytes.NewBuffer(d.Data), templates, &v9, nil); err != nil {
				b.Fatal(fmt.Errorf("%d: %w", n, err))
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
	})
}
