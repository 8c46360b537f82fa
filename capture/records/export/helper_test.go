package export

import (
	"io"
	"net/netip"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/records"
)

// datagram is a message on its way.
type datagram struct {
	from string
	at   int64
	data []byte
}

// wire delivers datagrams as packets, a few at a time.
type wire struct {
	datagrams []datagram
	atOnce    int
	number    uint32
	started   bool
}

func (w *wire) Next(b *capture.Batch) error {
	if len(w.datagrams) == 0 {
		b.Reset()
		return io.EOF
	}
	b.Reset()
	if !w.started {
		w.number, w.started = b.AppendInterface(capture.Interface{LinkType: capture.LinkRaw}), true
		b.Reset()
	}
	n := min(max(w.atOnce, 1), len(w.datagrams))
	for _, d := range w.datagrams[:n] {
		from, _ := netip.ParseAddrPort(d.from)
		b.Append(capture.Frame{Time: d.at, Interface: w.number}, encoding.AppendDatagram(nil, from, d.data))
	}
	w.datagrams = w.datagrams[n:]
	return nil
}

func (w *wire) Inputs() []string            { return []string{"wire"} }
func (w *wire) Offset() (done, total int64) { return 0, 0 }
func (w *wire) Size() int64                 { return 0 }
func (w *wire) Close() error                { return nil }

// readAll returns all batches, which do not share memory.
func readAll(t testing.TB, r records.Reader) (all []records.Batch) {
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
