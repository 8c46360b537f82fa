package pcapfile

import (
	"bytes"
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

// anyClock accepts another unit of time, as a pcap file has one for all.
func anyClock(got, want *capturetest.Packet) { got.Ticks = want.Ticks }
