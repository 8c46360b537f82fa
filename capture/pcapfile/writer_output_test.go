// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

// create opens an output in a test.
func create(t *testing.T, name string) *outfile.File {
	t.Helper()
	f, err := outfile.Create(context.Background(), name, outfile.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOutputCompresses(t *testing.T) {
	g := capturetest.Pcap(1, 3000, 1, 0)
	for _, ending := range []string{".gz", ".GZ", ".zst", ".lz4", ".pcap"} {
		name := filepath.Join(t.TempDir(), "out.pcap"+ending)
		o := create(t, name)
		w := NewWriter(o, WriterOptions{})
		rnd := rand.New(rand.NewPCG(1, 1))
		var want []capturetest.Packet
		if err := capturetest.Each(t, source(t, g.Bytes(), "in"), func(b *capture.Batch) {
			drop := make([]uint64, (len(b.Frames)+63)/64)
			for i := range b.Frames {
				if rnd.IntN(2) == 0 {
					drop[i/64] |= 1 << (i % 64)
				} else {
					want = append(want, capturetest.PacketOf(b, i))
				}
			}
			if err := w.Write(b, drop); err != nil {
				t.Fatal(err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Close(), o.Commit()); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if packed := !bytes.Equal(data[:4], g.Bytes()[:4]); packed != (ending != ".pcap") {
			t.Errorf("%s: compressed: %v", ending, packed)
		}
		if err := alike(exactly)(packets(t, data), want); err != nil {
			t.Errorf("%s: %v", ending, err)
		}
	}
}

// TestOutputIsInput writes a file while it is read under the same name.
func TestOutputIsInput(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be replaced on Windows")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "both.pcap")
	g := capturetest.Pcap(0, 500, 1, 0)
	if err := os.WriteFile(name, g.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	src, err := Open(name, Options{ChunkSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	o := create(t, name)
	w := NewWriter(o, WriterOptions{})
	if err := capturetest.Each(t, src, func(b *capture.Batch) {
		if err := w.Write(b, nil); err != nil {
			t.Fatal(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), o.Commit()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, g.Bytes()) {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(g.Bytes()))
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestOutputGathers: a regular file gets large writes, everything else each
// batch at once.
func TestOutputGathers(t *testing.T) {
	o := create(t, filepath.Join(t.TempDir(), "out"))
	defer o.Discard()
	var b capture.Batch
	src := source(t, capturetest.Pcap(0, 3, 1, 0).Bytes(), "in")
	defer src.Close()
	if err := src.Next(&b); err != nil {
		t.Fatal(err)
	}
	var direct bytes.Buffer
	gathers := NewWriter(o, WriterOptions{}).(*lazyWriter)
	if err := errors.Join(gathers.Write(&b, nil), NewWriter(&direct, WriterOptions{}).Write(&b, nil)); err != nil {
		t.Fatal(err)
	}
	if n := len(gathers.out.buf); n != direct.Len() || n == 0 {
		t.Errorf("%d bytes gathered for the file, %d written directly", n, direct.Len())
	}
}
