// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
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
		return source(tb, capturetest.NG(binary.LittleEndian, n).Bytes(), "a")
	}},
	{"pcap", true, func(tb testing.TB, n int) capture.Source {
		return Merge([]capture.Source{
			source(tb, capturetest.Pcap(0, n, 1, 0).Bytes(), "a"), source(tb, capturetest.Pcap(3, n, 1, 0).Bytes(), "b"),
		}, nil)
	}},
	{"section", true, func(tb testing.TB, n int) capture.Source {
		return Merge([]capture.Source{
			source(tb, capturetest.NG(binary.LittleEndian, n).Bytes(), "a"), source(tb, capturetest.NG(binary.BigEndian, n).Bytes(), "b"),
			source(tb, capturetest.Pcap(1, n, 1, 0).Bytes(), "c"),
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
	blank := capturetest.Pcap(1, 0, 1, 0).Bytes()
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

// TestSharedCapturesSplit splits each shared capture, sound or damaged, into two
// files that together must hold each of its packets once, both as copies and as
// rewritten sections.
func TestSharedCapturesSplit(t *testing.T) {
	capturetest.EachShared(t, func(t *testing.T, name string) {
		src, err := Open(name, Options{})
		if err != nil {
			t.Skip(err) // its header is damaged, or it is no capture
		}
		splitShared(t, src, false)
		src, err = Open(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		splitShared(t, Merge([]capture.Source{src, source(t, capturetest.NG(binary.BigEndian, 9).Bytes(), "other")}, nil), true)
		copyShared(t, name)
	})
}

// splitShared drops a third of the packets.
func splitShared(t *testing.T, src capture.Source, merged bool) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, 7))
	same := alike(exactly)
	r := split(t, src, merged, func() bool { return rnd.IntN(3) == 0 })
	if err := same(packets(t, r.kept.Bytes()), r.wantKept); err != nil {
		t.Errorf("merged %v: kept: %v", merged, err)
	}
	if err := same(packets(t, r.dup.Bytes()), r.wantDup); err != nil {
		t.Errorf("merged %v: duplicates: %v", merged, err)
	}
}

// copyShared drops nothing, which must give the very same file, as far as it
// could be read, up to the length of sections and less blocks not to be copied.
func copyShared(t *testing.T, name string) {
	t.Helper()
	src, err := Open(name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{})
	format := capture.FormatPcap
	end := capturetest.Each(t, src, func(b *capture.Batch) {
		format = b.Sections[0].Format
		if err := w.Write(b, nil); err != nil {
			t.Fatal(err)
		}
	})
	want, err := os.ReadFile(name)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	switch {
	case bytes.HasPrefix(want, []byte("\x1f\x8b")):
	case end != nil && out.Len() >= len(want), end == nil && out.Len() != len(want)-noCopyLen(want):
		t.Errorf("%d bytes copied of %d (%v)", out.Len(), len(want), end)
	case format == capture.FormatPcap && !bytes.HasPrefix(want, out.Bytes()):
		t.Error("the copy differs")
	}
}

// noCopyLen returns how long the custom blocks of a capture are that must not be copied.
func noCopyLen(data []byte) (total int) {
	if le.Uint32(data) != capture.BlockSectionHeader {
		return 0
	}
	big := false
	for len(data) >= encoding.MinBlockLen {
		if le.Uint32(data) == capture.BlockSectionHeader {
			big = le.Uint32(data[8:]) != encoding.ByteOrderMagic
		}
		n := int(encoding.Uint32(data[4:], big))
		if encoding.Uint32(data, big) == capture.BlockCustomNoCopy {
			total += n
		}
		data = data[n:]
	}
	return total
}
