// SPDX-License-Identifier: Apache-2.0

package exporttest

import (
	"io"
	"net/netip"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/records"
)

// Datagram is a message on its way.
type Datagram struct {
	From string // address and port
	At   int64
	Data []byte
}

// Wire delivers datagrams as packets, a few at a time.
type Wire struct {
	Datagrams []Datagram
	AtOnce    int
	number    uint32
	started   bool
}

func (w *Wire) Next(b *capture.Batch) error {
	if len(w.Datagrams) == 0 {
		b.Reset()
		return io.EOF
	}
	b.Reset()
	if !w.started {
		w.number, w.started = b.AppendInterface(capture.Interface{LinkType: capture.LinkRaw}), true
		b.Reset()
	}
	n := min(max(w.AtOnce, 1), len(w.Datagrams))
	for _, d := range w.Datagrams[:n] {
		from, _ := netip.ParseAddrPort(d.From)
		b.Append(capture.Frame{Time: d.At, Interface: w.number}, encoding.AppendDatagram(nil, from, d.Data))
	}
	w.Datagrams = w.Datagrams[n:]
	return nil
}

func (w *Wire) Inputs() []string            { return []string{"wire"} }
func (w *Wire) Offset() (done, total int64) { return 0, 0 }
func (w *Wire) Size() int64                 { return 0 }
func (w *Wire) Close() error                { return nil }

// ReadAll returns all batches, which do not share memory.
func ReadAll(t testing.TB, r records.Reader) (all []records.Batch) {
	t.Helper()
	for {
		var b records.Batch
		err := r.ReadBatch(&b)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		b.Raw = slices.Clone(b.Raw)
		all = append(all, b)
	}
}
