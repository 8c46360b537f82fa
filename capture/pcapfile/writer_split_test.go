// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// source opens a capture in small chunks, so that it comes in many batches.
func source(tb testing.TB, data []byte, name string) capture.Source {
	tb.Helper()
	src, err := NewReader(bytes.NewReader(data), name, Options{ChunkSize: 2048})
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return src
}

// packets reads a whole capture, which must be sound.
func packets(tb testing.TB, data []byte) []capturetest.Packet {
	tb.Helper()
	return capturetest.PacketsOf(tb, source(tb, data, "output"))
}

// splitResult is a stream split into kept frames and duplicates.
type splitResult struct {
	kept, dup         bytes.Buffer
	wantKept, wantDup []capturetest.Packet
	skipped           uint64
}

// split writes src through two writers by drop, which chooses for each frame.
func split(tb testing.TB, src capture.Source, merged bool, drop func() bool) *splitResult {
	tb.Helper()
	r, err := trySplit(tb, src, merged, drop)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// trySplit is split with the first error of the writers.
func trySplit(tb testing.TB, src capture.Source, merged bool, drop func() bool) (*splitResult, error) {
	tb.Helper()
	r := &splitResult{}
	kept, dup := NewWriter(&r.kept, WriterOptions{Merged: merged}), NewWriter(&r.dup, WriterOptions{Merged: merged})
	var inverse []uint64
	_ = capturetest.Each(tb, src, func(b *capture.Batch) {
		bitmap := make([]uint64, (len(b.Frames)+63)/64)
		for i := range b.Frames {
			if drop() {
				bitmap[i/64] |= 1 << (i % 64)
				r.wantDup = append(r.wantDup, capturetest.PacketOf(b, i))
			} else {
				r.wantKept = append(r.wantKept, capturetest.PacketOf(b, i))
			}
		}
		inverse = capture.Complement(inverse, bitmap, len(b.Frames))
		_, _ = kept.Write(b, bitmap), dup.Write(b, inverse) // Close says how it went
	})
	r.skipped = kept.Skipped()
	return r, errors.Join(kept.Close(), dup.Close())
}

// check splits a stream by every pattern and compares both files with it.
func check(t *testing.T, open func() capture.Source, merged bool, same func(got, want []capturetest.Packet) error) {
	t.Helper()
	for _, p := range capturetest.Patterns {
		rnd, n := rand.New(rand.NewPCG(1, 2)), 0
		r := split(t, open(), merged, func() bool { n++; return p.Drop(rnd, n-1) })
		if len(r.wantKept)+len(r.wantDup) == 0 {
			t.Fatal("no packets in the test's input")
		}
		if err := same(packets(t, r.kept.Bytes()), r.wantKept); err != nil {
			t.Errorf("%s: kept: %v", p.Name, err)
		}
		if err := same(packets(t, r.dup.Bytes()), r.wantDup); err != nil {
			t.Errorf("%s: duplicates: %v", p.Name, err)
		}
	}
}

// alike compares packets; fine says how the clock of the output may differ.
func alike(fine func(got, want *capturetest.Packet)) func(got, want []capturetest.Packet) error {
	return func(got, want []capturetest.Packet) error {
		if len(got) != len(want) {
			return fmt.Errorf("%d packets, want %d", len(got), len(want))
		}
		last := int64(0)
		for i := range got {
			g, w := got[i], want[i]
			if w.Time == capture.NoTime && g.Time != capture.NoTime {
				// The time of the packet before it, rounded down.
				if g.Time > last || g.Time < last-1000 {
					return fmt.Errorf("packet %d: untimed packet at %d after %d", i, g.Time, last)
				}
				w.Time = g.Time
			} else if w.Time != capture.NoTime {
				last = w.Time
			}
			fine(&g, &w)
			if g != w {
				return fmt.Errorf("packet %d: %.200v, want %.200v", i, g, w)
			}
		}
		return nil
	}
}

func exactly(*capturetest.Packet, *capturetest.Packet) {}

// anyClock accepts any unit of time, as a pcap file has the same unit for all packets.
func anyClock(got, want *capturetest.Packet) { got.Ticks = want.Ticks }

// TestSplitter begins a file at each packet. Each is as long as was said before, and holds
// only that packet.
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

// TestUntimedPcap has pcap files with packets that have no time, in one pcap file and in a file for each
// packet: they get the time before.
func TestUntimedPcap(t *testing.T) {
	input := func(times ...uint32) capture.Source {
		g := &capturetest.File{Order: binary.BigEndian}
		g.PcapHeader(magicMicroseconds, 4, 64, 1)
		for _, s := range times {
			g.Record(s/2, s%2*2_000_000, []byte{1}, 1) // odd ones have an impossible fraction
		}
		return source(t, g.Bytes(), "in")
	}
	src := Merge([]capture.Source{input(1, 10, 12, 13, 15), input(14, 20, 21)}, nil)
	defer src.Close()
	want := []int64{0, 5, 6, 6, 6, 7, 10, 10} // seconds
	var whole bytes.Buffer
	w := NewWriter(&whole, WriterOptions{Merged: true})
	var s *Splitter
	var got []capturetest.Packet
	_ = capturetest.Each(t, src, func(b *capture.Batch) {
		if s == nil {
			s = NewSplitter(b, WriterOptions{Merged: true})
		}
		for i := range b.Blocks {
			s.Observe(b, i)
		}
		for i := range b.Frames {
			var out bytes.Buffer
			e, err := s.Begin(&out, b)
			if err = errors.Join(err, e.Encode(b, nil, Part{From: i, To: i + 1}), e.Flush()); err != nil {
				t.Fatal(err)
			}
			s.End(e)
			got = append(got, packets(t, out.Bytes())...)
		}
		_ = w.Write(b, nil) // Close says how it went
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, all := range map[string][]capturetest.Packet{"one file": packets(t, whole.Bytes()), "files": got} {
		if len(all) != len(want) {
			t.Fatalf("%s: %d packets", name, len(all))
		}
		for i := range want {
			if all[i].Time != want[i]*1e9 {
				t.Errorf("%s: packet %d has the time %d", name, i, all[i].Time)
			}
		}
	}
}

// TestSplitterFails where headers cannot be written, and where there are too many.
func TestSplitterFails(t *testing.T) {
	var b capture.Batch
	src := source(t, capturetest.NG(binary.LittleEndian, 1).Bytes(), "in")
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
