// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// rotated is the content of the folder of a File.
type rotated struct {
	names []string // in the order of names, or in which they were written
	files [][]byte
	stats Stats
}

func readRotated(t *testing.T, dir string) (r rotated) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), ".flowdedup-") { // the record of the series, its lock
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		r.names, r.files = append(r.names, e.Name()), append(r.files, data)
	}
	return r
}

func newFile(t *testing.T, name string, opt Options) *File {
	t.Helper()
	opt.Output.NoSync = true
	r, err := New(name, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rotate writes what drop leaves of src, and returns the files as they were written.
func rotate(t *testing.T, src capture.Source, opt Options, drop func() bool) rotated {
	t.Helper()
	dir := t.TempDir()
	var names []string
	opt.Completed = func(name string, _ uint64) { names = append(names, name) }
	r := newFile(t, filepath.Join(dir, "out.cap"), opt)
	_ = capturetest.Each(t, src, func(b *capture.Batch) { // up to damage
		if err := r.Write(b, bitmap(b, drop)); err != nil {
			t.Fatal(err)
		}
	})
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	out := rotated{stats: r.Stats()}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out.names, out.files = append(out.names, filepath.Base(name)), append(out.files, data)
	}
	if all := readRotated(t, dir); len(all.names) != len(out.names) {
		t.Errorf("%q are there, and %q were written", all.names, out.names)
	}
	return out
}

// source opens a capture in small chunks, so that it comes in many batches.
func source(tb testing.TB, data []byte, name string) capture.Source {
	tb.Helper()
	src, err := pcapfile.NewReader(bytes.NewReader(data), name, pcapfile.Options{ChunkSize: 2048})
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return src
}

// bitmap asks drop for each frame of a batch.
func bitmap(b *capture.Batch, drop func() bool) []uint64 {
	words := make([]uint64, (len(b.Frames)+63)/64)
	for i := range b.Frames {
		if drop() {
			words[i/64] |= 1 << (i % 64)
		}
	}
	return words
}

// patterns choose which frames to drop.
var patterns = []struct {
	name string
	drop func(r *rand.Rand, n int) bool
}{
	{"alternate", func(_ *rand.Rand, n int) bool { return n%2 == 0 }},
	{"random", func(r *rand.Rand, _ int) bool { return r.IntN(4) == 0 }},
}

// one writes what drop leaves of src to a file that is not rotated.
func one(t *testing.T, src capture.Source, merged bool, drop func() bool) []byte {
	t.Helper()
	var out bytes.Buffer
	w := pcapfile.NewWriter(&out, pcapfile.WriterOptions{Merged: merged})
	_ = capturetest.Each(t, src, func(b *capture.Batch) { // up to damage
		if err := w.Write(b, bitmap(b, drop)); err != nil {
			t.Fatal(err)
		}
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// none drops nothing.
func none() bool { return false }

// times returns the times of the packets of a capture.
func times(t *testing.T, data []byte) (all []int64) {
	t.Helper()
	if err := capturetest.Each(t, source(t, data, "output"), func(b *capture.Batch) {
		for i := range b.Frames {
			all = append(all, b.Frames[i].Time)
		}
	}); err != nil {
		t.Fatalf("reading what was written: %v", err)
	}
	return all
}

// records returns the bytes of every packet of a capture, as stored.
func records(t *testing.T, data []byte) (all []string) {
	t.Helper()
	if err := capturetest.Each(t, source(t, data, "output"), func(b *capture.Batch) {
		for i := range b.Frames {
			all = append(all, string(b.Record(i)))
		}
	}); err != nil {
		t.Fatalf("reading what was written: %v", err)
	}
	return all
}

// chunked opens a capture in batches of about chunk bytes.
func chunked(t *testing.T, g *capturetest.File, chunk int) capture.Source {
	t.Helper()
	src, err := pcapfile.NewReader(bytes.NewReader(g.Bytes()), "in", pcapfile.Options{ChunkSize: chunk})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// oneByOne makes a batch of each packet of a stream.
func oneByOne(t *testing.T, g *capturetest.File) (batches []*capture.Batch) {
	t.Helper()
	if err := capturetest.Each(t, source(t, g.Bytes(), "in"), func(b *capture.Batch) {
		pos := 0
		for i := range b.Frames {
			one := &capture.Batch{Buf: slices.Clone(b.Buf), Frames: slices.Clone(b.Frames[i : i+1]), Interfaces: b.Interfaces, Sections: b.Sections}
			for ; pos < len(b.Blocks) && int(b.Blocks[pos].Before) <= i; pos++ {
				k := b.Blocks[pos]
				k.Before = 0
				one.Blocks = append(one.Blocks, k)
			}
			batches = append(batches, one)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return batches
}

// inputs are streams of every kind, in batches of any size.
var inputs = func() map[string]func(t *testing.T, chunk int) (src capture.Source, merged bool) {
	le, be := capturetest.NG(binary.LittleEndian, 60), capturetest.NG(binary.BigEndian, 60)
	inputs := map[string]func(t *testing.T, chunk int) (capture.Source, bool){
		"pcapng":            func(t *testing.T, c int) (capture.Source, bool) { return chunked(t, le, c), false },
		"big-endian pcapng": func(t *testing.T, c int) (capture.Source, bool) { return chunked(t, be, c), false },
		"joined pcapng": func(t *testing.T, c int) (capture.Source, bool) {
			return pcapfile.Concat([]capture.Source{chunked(t, be, c), chunked(t, le, c)}), false
		},
		"joined pcap and pcapng": func(t *testing.T, c int) (capture.Source, bool) {
			return pcapfile.Concat([]capture.Source{chunked(t, capturetest.Pcap(2, 90, 1, 0), c), chunked(t, le, c)}), false
		},
		"merged pcap": func(t *testing.T, c int) (capture.Source, bool) {
			return pcapfile.Merge([]capture.Source{chunked(t, capturetest.Pcap(3, 90, 1, 0), c), chunked(t, capturetest.Pcap(0, 70, 1, 99), c)}, nil), true
		},
		"merged pcapng": func(t *testing.T, c int) (capture.Source, bool) {
			return pcapfile.Merge([]capture.Source{chunked(t, le, c), chunked(t, be, c), chunked(t, capturetest.Pcap(4, 70, 101, 0), c)}, nil), true
		},
	}
	for i, k := range capturetest.PcapKinds {
		inputs[k.Name] = func(t *testing.T, c int) (capture.Source, bool) {
			return chunked(t, capturetest.Pcap(i, 130, 1, 65535), c), false
		}
	}
	return inputs
}()

func checkRotation(t *testing.T, what string, write func(chunk int) rotated, opt Options, want []string) {
	t.Helper()
	got := write(2048)
	var all []string
	for i, data := range got.files {
		packets := records(t, data)
		all = append(all, packets...)
		headers := len(data) - len(strings.Join(packets, ""))
		if opt.Size > 0 && len(packets) > 1 && len(data) > max(int(opt.Size), 2*headers) {
			t.Errorf("%s: %s has %d bytes, %d of them in %d packets", what, got.names[i], len(data), headers, len(packets))
		}
	}
	if !slices.Equal(all, want) {
		t.Errorf("%s: %d packets in %d files are not the %d of one", what, len(all), len(got.files), len(want))
	}
	if s := got.stats; s.Files != uint64(len(got.files)) || s.Packets != uint64(len(want)) || s.Lost != 0 ||
		s.Bytes != uint64(len(bytes.Join(got.files, nil))) {
		t.Errorf("%s: %+v for %d files", what, s, len(got.files))
	}
	if other := write(40_000); !slices.Equal(other.names, got.names) || !slices.EqualFunc(other.files, got.files, bytes.Equal) {
		t.Errorf("%s: other files from other batches: %q, %q", what, other.names, got.names)
	}
}
