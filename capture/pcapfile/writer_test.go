package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/forge"
)

// failAfter takes n bytes and then fails, like a disk that fills up.
type failAfter struct{ n int }

var errFull = errors.New("no room")

func (w *failAfter) Write(p []byte) (int, error) {
	n := min(w.n, len(p))
	w.n -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

// modes give a stream for each kind of output file.
var modes = []struct {
	name   string
	merged bool
	open   func(tb testing.TB, n int) capture.Source
}{
	{"copy", false, func(tb testing.TB, n int) capture.Source {
		return source(tb, forge.NG(binary.LittleEndian, n).Bytes(), "a")
	}},
	{"pcap", true, func(tb testing.TB, n int) capture.Source {
		return Merge([]capture.Source{
			source(tb, forge.Pcap(0, n, 1, 0).Bytes(), "a"), source(tb, forge.Pcap(3, n, 1, 0).Bytes(), "b"),
		}, nil)
	}},
	{"section", true, func(tb testing.TB, n int) capture.Source {
		return Merge([]capture.Source{
			source(tb, forge.NG(binary.LittleEndian, n).Bytes(), "a"), source(tb, forge.NG(binary.BigEndian, n).Bytes(), "b"),
			source(tb, forge.Pcap(1, n, 1, 0).Bytes(), "c"),
		}, nil)
	}},
}

func TestWriteErrors(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			size := split(t, m.open(t, 5), m.merged, func() bool { return false }).kept.Len()
			for n := range size {
				w := NewWriter(&failAfter{n}, WriterOptions{Merged: m.merged})
				var first error
				_ = capturetest.Each(t, m.open(t, 5), func(b *capture.Batch) {
					err := w.Write(b, nil)
					if first != nil && err != first {
						t.Fatalf("after %d bytes: %v, then %v", n, first, err)
					}
					first = err
				})
				if err := w.Close(); !errors.Is(err, errFull) {
					t.Fatalf("full after %d of %d bytes: %v", n, size, err)
				}
			}
			w := NewWriter(&failAfter{size}, WriterOptions{Merged: m.merged})
			_ = capturetest.Each(t, m.open(t, 5), func(b *capture.Batch) { _ = w.Write(b, nil) })
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestWriterAllocations(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			w := NewWriter(&failAfter{1 << 30}, WriterOptions{Merged: m.merged})
			src := m.open(t, 500)
			defer src.Close()
			var b capture.Batch
			for len(b.Frames) == 0 {
				if err := src.Next(&b); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Write(&b, nil); err != nil {
				t.Fatal(err)
			}
			b.Blocks = nil // the tables grow with each description
			drop := make([]uint64, (len(b.Frames)+63)/64)
			for i := range drop {
				drop[i] = 0x8421
			}
			allocs := testing.AllocsPerRun(20, func() {
				if err := w.Write(&b, drop); err != nil {
					t.Fatal(err)
				}
			})
			if allocs != 0 {
				t.Errorf("%v allocations for a batch of %d frames", allocs, len(b.Frames))
			}
		})
	}
}

// TestBlankWriters have nothing, or nothing but headers, to write.
func TestBlankWriters(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{})
	if err := errors.Join(w.Write(&capture.Batch{}, nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	if n := len(packets(t, out.Bytes())); n != 0 {
		t.Errorf("%d packets", n)
	}
	blank := forge.Pcap(1, 0, 1, 0).Bytes()
	r := split(t, source(t, blank, "blank"), false, func() bool { return false })
	if !bytes.Equal(r.kept.Bytes(), blank) || !bytes.Equal(r.dup.Bytes(), blank) {
		t.Errorf("a pcap without packets becomes % x and % x", r.kept.Bytes(), r.dup.Bytes())
	}
}

func TestWriterPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a bitmap that is too short was taken")
		}
	}()
	w := NewWriter(&failAfter{1 << 20}, WriterOptions{})
	_ = w.Write(&capture.Batch{Frames: make([]capture.Frame, 65)}, make([]uint64, 1))
}

// TestLateInputs announces inputs only after the format was chosen.
func TestLateInputs(t *testing.T) {
	pcap := capture.Section{Format: capture.FormatPcap, RecordHeader: 16}
	ng := capture.Section{Format: capture.FormatPcapNG}
	second := func(s capture.Section) capture.Section { s.Input = 1; return s }
	nano := pcap
	nano.Nanosecond = true
	ethernet, raw := capture.Interface{LinkType: capture.LinkEthernet}, capture.Interface{LinkType: capture.LinkRaw, Section: 1}
	for _, tt := range []struct {
		name        string
		first, then capture.Batch
	}{
		{"pcap after pcap", capture.Batch{Sections: []capture.Section{pcap}}, capture.Batch{Sections: []capture.Section{pcap, second(pcap)}}},
		{"pcap after pcapng", capture.Batch{Sections: []capture.Section{ng}}, capture.Batch{Sections: []capture.Section{ng, second(pcap)}}},
		{
			"nanoseconds after microseconds",
			capture.Batch{Sections: []capture.Section{pcap, second(pcap)}, Interfaces: []capture.Interface{ethernet}},
			capture.Batch{Sections: []capture.Section{pcap, second(pcap), second(nano)}, Interfaces: []capture.Interface{ethernet}},
		},
		{
			"another link type",
			capture.Batch{Sections: []capture.Section{pcap, second(pcap)}, Interfaces: []capture.Interface{ethernet}},
			capture.Batch{Sections: []capture.Section{pcap, second(pcap)}, Interfaces: []capture.Interface{ethernet, raw}},
		},
	} {
		w := NewWriter(&bytes.Buffer{}, WriterOptions{})
		if err := w.Write(&tt.first, nil); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := w.Write(&tt.then, nil); !errors.Is(err, capture.ErrNotSupported) {
			t.Errorf("%s: %v, want ErrNotSupported", tt.name, err)
		}
	}
}
