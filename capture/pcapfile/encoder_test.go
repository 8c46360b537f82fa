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

// TestSplitter begins a file at each packet. Each is as long as was said before, and holds
// that packet alone.
func TestSplitter(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			var s *Splitter
			_ = capturetest.Each(t, m.open(t, 20), func(b *capture.Batch) {
				if s == nil {
					s = NewSplitter(b, WriterOptions{Merged: m.merged})
				}
				pos := 0
				for i := range b.Frames {
					for ; pos < len(b.Blocks) && int(b.Blocks[pos].Before) <= i; pos++ {
						s.Observe(b, pos)
					}
					checkSplit(t, s, b, i)
				}
			})
			if s.Skipped() != 0 || s.Check() != nil {
				t.Errorf("%d skipped, %v", s.Skipped(), s.Check())
			}
		})
	}
}

// checkSplit makes a file of frame i of b.
func checkSplit(t *testing.T, s *Splitter, b *capture.Batch, i int) {
	t.Helper()
	var out bytes.Buffer
	e, err := s.Begin(&out, b)
	if err != nil {
		t.Fatal(err)
	}
	want := e.Size() + e.FrameLen(b, i, e.Timed())
	if err := errors.Join(e.Encode(b, nil, Part{From: i, To: i + 1}), e.Flush()); err != nil {
		t.Fatal(err)
	}
	s.End(e)
	if e.Size() != want || int64(out.Len()) != want || e.WrittenBytes() != want || e.Written() != 1 {
		t.Errorf("%d of %d bytes written, want %d; %d packets", e.WrittenBytes(), e.Size(), want, e.Written())
	}
	got := packets(t, out.Bytes())
	if len(got) != 1 || got[0].Data != string(b.Data(i)) {
		t.Errorf("%d packets", len(got))
	}
}

// TestSplitterFails where headers cannot be written, and where there are too many.
func TestSplitterFails(t *testing.T) {
	var b capture.Batch
	src := source(t, forge.NG(binary.LittleEndian, 1).Bytes(), "in")
	defer src.Close()
	if err := src.Next(&b); err != nil {
		t.Fatal(err)
	}
	s := NewSplitter(&b, WriterOptions{})
	wide := capture.Batch{Buf: make([]byte, maxPreamble), Blocks: []capture.Block{{Type: capture.BlockInterface, Len: maxPreamble}}}
	s.Observe(&wide, 0)
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	e, err := s.Begin(&failAfter{}, &b)
	if !errors.Is(err, errFull) || !errors.Is(e.Flush(), errFull) || e.Written() != 0 {
		t.Errorf("%v, %d written", err, e.Written())
	}
	s.Observe(&wide, 0)
	if err := s.Check(); !errors.Is(err, capture.ErrNotSupported) {
		t.Errorf("endless headers: %v", err)
	}
}
