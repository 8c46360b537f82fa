// SPDX-License-Identifier: Apache-2.0

// Package capturetest helps the tests of packages that read and write captures. It builds files
// piece by piece, also files that no program writes, walks sources, and finds the shared
// captures. It opens nothing by itself.
package capturetest

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// Packet is what must survive of a frame.
type Packet struct {
	Time  int64
	Data  string
	Wire  uint32
	Link  capture.LinkType
	Ticks uint64
}

// PacketOf returns the packet of frame i.
func PacketOf(b *capture.Batch, i int) Packet {
	f := &b.Frames[i]
	it := &b.Interfaces[f.Interface]
	return Packet{f.Time, string(b.Data(i)), f.WireLen, it.LinkType, it.TicksPerSecond}
}

// Each calls f with every batch and closes src. It returns what reading ended
// with, nil for a clean end.
func Each(tb testing.TB, src capture.Source, f func(b *capture.Batch)) error {
	tb.Helper()
	defer src.Close()
	var b capture.Batch
	for {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		f(&b)
	}
}

// CompareFrames ends the test unless both lists have the same frames.
func CompareFrames(tb testing.TB, got, want [][]byte) {
	tb.Helper()
	if len(got) != len(want) {
		tb.Fatalf("%d frames, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			tb.Fatalf("frame %d is\n%x, want\n%x", i, got[i], want[i])
		}
	}
}

// PacketsOf reads a whole capture, which must be sound.
func PacketsOf(tb testing.TB, src capture.Source) []Packet {
	tb.Helper()
	var all []Packet
	if err := Each(tb, src, func(b *capture.Batch) {
		for i := range b.Frames {
			all = append(all, PacketOf(b, i))
		}
	}); err != nil {
		tb.Fatalf("reading what was written: %v", err)
	}
	return all
}

// WholeBatch returns all of a source, which must be sound, as one batch.
func WholeBatch(tb testing.TB, src capture.Source) *capture.Batch {
	tb.Helper()
	all, err := SomeBatch(tb, src)
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// SomeBatch returns a source as one batch, as far as it can be read, and the error at its end.
func SomeBatch(tb testing.TB, src capture.Source) (*capture.Batch, error) {
	tb.Helper()
	all := &capture.Batch{}
	return all, Each(tb, src, func(part *capture.Batch) {
		at := uint32(len(all.Buf))
		all.Interfaces, all.Sections = part.Interfaces, part.Sections
		for _, k := range part.Blocks {
			k.Offset += at
			k.Before += uint32(len(all.Frames))
			all.Blocks = append(all.Blocks, k)
		}
		for _, f := range part.Frames {
			f.Data, f.Record = f.Data+at, f.Record+at
			all.Frames = append(all.Frames, f)
		}
		all.Buf = append(all.Buf, part.Buf...)
	})
}

// Patterns choose which frames to drop.
var Patterns = []struct {
	Name string
	Drop func(r *rand.Rand, n int) bool
}{
	{"none", func(*rand.Rand, int) bool { return false }},
	{"all", func(*rand.Rand, int) bool { return true }},
	{"alternate", func(_ *rand.Rand, n int) bool { return n%2 == 0 }},
	{"random", func(r *rand.Rand, _ int) bool { return r.IntN(4) == 0 }},
	{"long runs", func(_ *rand.Rand, n int) bool { return n/70%2 == 1 }},
}

// BenchDrops are the frames dropped, as a word that repeats.
var BenchDrops = []struct {
	Name string
	Word uint64
}{{"drop=0", 0}, {"drop=1in64", 1 << 40}, {"drop=1in2", 0x5555555555555555}, {"drop=all", ^uint64(0)}}

// BenchWriter measures a writer.
func BenchWriter(b *testing.B, batch *capture.Batch, w capture.Writer, word uint64) {
	b.Helper()
	drop := make([]uint64, (len(batch.Frames)+63)/64)
	for i := range drop {
		drop[i] = word
	}
	b.SetBytes(int64(len(batch.Buf)))
	for b.Loop() {
		if err := w.Write(batch, drop); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(batch.Frames)), "ns/packet")
}

// Shared returns the folder of the shared captures, or skips the test.
func Shared(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("FLOWDEDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "pcaps")
	}
	if _, err := os.Stat(filepath.Join(dir, "oracle_py.json")); err != nil {
		t.Skipf("no shared captures in %s; FLOWDEDUP_SHARED names their folder", dir)
	}
	return dir
}

// EachShared runs a test on every shared capture, sound or damaged.
func EachShared(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	dir := Shared(t)
	names, err := filepath.Glob(filepath.Join(dir, "*.pcap*"))
	hostile, err2 := filepath.Glob(filepath.Join(dir, "hostile", "*.pcap*"))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, hostile...) {
		t.Run(filepath.Base(name), func(t *testing.T) { test(t, name) })
	}
}
