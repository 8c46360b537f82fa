// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/compressed"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir, Options{}); !errors.Is(err, syscall.EISDIR) || !strings.Contains(err.Error(), dir) {
		t.Errorf("directory: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	for name, data := range samples() {
		path := filepath.Join(dir, name+".txt")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := readAll(t, open(t, data, Options{}))
		got := readAll(t, src)
		if want.err != nil {
			want.err = errors.New(strings.Replace(want.err.Error(), "test:", path+":", 1))
		}
		equal(t, got, want)
		if done, total := src.Offset(); done != int64(len(data)) || total != done {
			t.Errorf("%s: offset %d of %d, want %d", name, done, total, len(data))
		}
		if names := src.Inputs(); len(names) != 1 || names[0] != path {
			t.Errorf("inputs %q", names)
		}
		if err := errors.Join(src.Close(), src.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenStdin(t *testing.T) {
	data := packets64(capture.FormatPcap, 500)
	path := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(path, append([]byte("read before"), data...), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	defer func(old *os.File) { os.Stdin = old }(os.Stdin)
	os.Stdin = f
	if _, err := f.Seek(int64(len("read before")), io.SeekStart); err != nil {
		t.Fatal(err)
	}
	src, err := Open("-", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if w := readAll(t, src); w.err != nil || len(w.packets) != 500 || src.Inputs()[0] != "stdin" {
		t.Errorf("%d packets of %q, %v", len(w.packets), src.Inputs(), w.err)
	}
	if done, total := src.Offset(); done != int64(len(data)) || total != done {
		t.Errorf("offset %d of %d", done, total)
	}
	if err := src.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.Stat(); err != nil {
		t.Errorf("standard input was closed: %v", err)
	}
}

func TestNextAfterClose(t *testing.T) {
	for _, data := range [][]byte{packets64(capture.FormatPcap, 10), packers["zstd"](t, packets64(capture.FormatPcap, 10))} {
		src := open(t, data, Options{})
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
		var b capture.Batch
		if err := src.Next(&b); !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	}
}

// Reading a file that grows ends at the end that it has when its first end is reached.
func TestGrowingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "growing")
	data := packets64(capture.FormatPcap, 1000)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	more, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer more.Close()
	src, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var b capture.Batch
	packets := 0
	for batches := 0; ; batches++ {
		err := src.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil || batches > 10 {
			t.Fatalf("batch %d: %v", batches, err)
		}
		packets += len(b.Frames)
		if _, err := more.Write(data[24:]); err != nil {
			t.Fatal(err)
		}
	}
	// The head has been read at Open; the first of our writes follows it.
	if packets != 2000 {
		t.Errorf("%d packets", packets)
	}
}

// A file that is cut while it is read is truncated, between records too, and what was
// read is delivered.
func TestShrinkingFile(t *testing.T) {
	data := packets64(capture.FormatPcap, 1000)
	for name, stored := range map[string][]byte{"plain": data, "gzip": packers["gzip"](t, data)} {
		for _, left := range []int{0, compressed.HeadSize, 24 + 80*100, 24 + 80*100 + 1} {
			path := filepath.Join(t.TempDir(), "shrinking")
			if err := os.WriteFile(path, stored, 0o600); err != nil {
				t.Fatal(err)
			}
			src, err := Open(path, Options{ChunkSize: 4096})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, int64(min(left, len(stored)-1))); err != nil {
				t.Fatal(err)
			}
			w := readAll(t, src)
			if name != "plain" && w.err == nil {
				continue // all of it was read with the head
			}
			if e := inputError(t, w.err); !errors.Is(e, capture.ErrTruncated) || name == "plain" && len(w.packets) < min(left, compressed.HeadSize)/81 {
				t.Errorf("%s with %d bytes left: %d packets, %v", name, left, len(w.packets), w.err)
			}
		}
	}
}

// What a pipe holds is delivered before more comes.
func TestPipeIsLive(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o := binary.LittleEndian
	w.Write(capturetest.PcapRecord(capturetest.PcapHeader(o, magicMicroseconds, 2, 4, 0, 1), o, 1, 2, 0, 0))
	src, err := NewReader(r, "pipe", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b capture.Batch
	for i := range 5 {
		if err := src.Next(&b); err != nil || len(b.Frames) != 1 {
			t.Fatalf("batch %d: %d packets, %v", i, len(b.Frames), err)
		}
		w.Write(capturetest.PcapRecord(nil, o, 1, 2, 0, 0))
	}
	w.Close()
	if err := src.Next(&b); err != nil || len(b.Frames) != 1 {
		t.Fatal(err)
	}
	if err := src.Next(&b); err != io.EOF {
		t.Fatal(err)
	}
}

// Close ends the goroutine of a decompressor that was not read to its end.
func TestCloseEndsGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	path := filepath.Join(t.TempDir(), "packed")
	for _, f := range packers {
		if err := os.WriteFile(path, f(t, packets64(capture.FormatPcap, 100_000)), 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b capture.Batch
		for range 2 {
			if err := src.Next(&b); err != nil {
				t.Fatal(err)
			}
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
	waitForGoroutines(t, before)
}

// A compressed capture whose first section header is long and damaged has set
// the decompressor to work before it is refused.
func TestRefusedInputEndsGoroutine(t *testing.T) {
	data := capturetest.SectionBlock(binary.LittleEndian, 1, 0, capturetest.Option(binary.LittleEndian, encoding.OptComment, make([]byte, 4*compressed.HeadSize)...))
	data[len(data)-1] ^= 1 // the length at the end
	data = append(data, make([]byte, 2*aheadChunks*aheadChunkSize)...)
	before := runtime.NumGoroutine()
	path := filepath.Join(t.TempDir(), "packed")
	for how, f := range packers {
		packed := f(t, data)
		if err := os.WriteFile(path, packed, 0o600); err != nil {
			t.Fatal(err)
		}
		_, fromFile := Open(path, Options{})
		_, fromReader := NewReader(bytes.NewReader(packed), "reader", Options{})
		for _, err := range []error{fromFile, fromReader} {
			if e := inputError(t, err); !errors.Is(e, capture.ErrDamaged) || !e.Header {
				t.Errorf("%s: %v", how, err)
			}
		}
	}
	waitForGoroutines(t, before)
}

// waitForGoroutines fails if more than limit stay. Those of zstd may end a
// little later than what started them.
func waitForGoroutines(t *testing.T, limit int) {
	t.Helper()
	if !wait.For(func() bool { return runtime.NumGoroutine() <= limit }) {
		t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), limit)
	}
}
