// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture/compressed"
)

// create opens an output in a test.
func create(t *testing.T, name string) *File {
	t.Helper()
	f, err := Create(context.Background(), name, Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func writeTo(t *testing.T, f *File, s string) {
	t.Helper()
	if n, err := f.Write([]byte(s)); n != len(s) || err != nil {
		t.Fatalf("Write: %d, %v", n, err)
	}
}

func put(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// holds checks that a folder holds these files with this content, and nothing else.
func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := want[e.Name()]; !ok {
			t.Errorf("left behind: %s", e.Name())
		}
	}
	for name, content := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != content {
			t.Errorf("%s holds %.80q, %v; want %.80q", name, got, err, content)
		}
	}
}

// bothWays runs a test with files that have no name while they are written, where the
// system has them, and with hidden names.
func bothWays(t *testing.T, f func(t *testing.T)) {
	for _, anonymous := range []bool{true, false} {
		t.Run(fmt.Sprintf("anonymous=%v", anonymous), func(t *testing.T) {
			useAnonymous = anonymous
			defer func() { useAnonymous = true }()
			f(t)
		})
	}
}

func TestCommit(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		dir := t.TempDir()
		name := filepath.Join(dir, "out")
		f, err := Create(context.Background(), name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		writeTo(t, f, "content")
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file is there before Commit: %v", err)
		}
		for range 2 {
			if err := f.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Discard(); err != nil {
			t.Errorf("Discard after Commit: %v", err)
		}
		if _, err := f.Write([]byte("x")); !errors.Is(err, ErrClosed) {
			t.Errorf("Write after Commit: %v", err)
		}
		holds(t, dir, map[string]string{"out": "content"})
		put(t, filepath.Join(dir, "plain"), "")
		want, err := os.Stat(filepath.Join(dir, "plain"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.Stat(name); err != nil || got.Mode() != want.Mode() {
			t.Errorf("mode %v, %v; want that of any new file, %v", got.Mode(), err, want.Mode())
		}
	})
}

func TestDiscard(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for _, ending := range []string{"", ".gz", ".zst", ".lz4"} {
			dir := t.TempDir()
			name := filepath.Join(dir, "out"+ending)
			put(t, name, "old")
			f := create(t, name)
			writeTo(t, f, strings.Repeat("x", 1<<20))
			for range 2 {
				if err := f.Discard(); err != nil {
					t.Errorf("Discard: %v", err)
				}
			}
			if err := f.Commit(); !errors.Is(err, ErrClosed) {
				t.Errorf("Commit after Discard: %v", err)
			}
			holds(t, dir, map[string]string{"out" + ending: "old"})
		}
	})
}

// TestKeep ends outputs in the middle: an older file stays as it was.
func TestKeep(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		dir := t.TempDir()
		name := filepath.Join(dir, "out.pcap.gz")
		want := map[string]string{}
		for _, kept := range []string{"out.pcap.gz", "out.partial.pcap.gz", "out.partial_002.pcap.gz"} {
			f := create(t, name)
			writeTo(t, f, kept)
			got, err := f.Keep()
			if err != nil || got != filepath.Join(dir, kept) {
				t.Errorf("kept as %q, %v; want %q", got, err, kept)
			}
			if text := unpacked(t, got); text != kept {
				t.Errorf("%s holds %q", kept, text)
			}
			want[kept] = read(t, got)
		}
		holds(t, dir, want)
	})
}

func unpacked(t *testing.T, name string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(read(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestFailedWrite breaks the open file: what was written before is kept as partial, also
// under a new name.
func TestFailedWrite(t *testing.T) {
	for _, old := range []string{"", "old"} {
		dir := t.TempDir()
		name := filepath.Join(dir, "out.pcap")
		want := map[string]string{"out.partial.pcap": "whole"}
		if old != "" {
			put(t, name, old)
			want["out.pcap"] = old
		}
		f := create(t, name)
		writeTo(t, f, "whole")
		good := f.out
		broken, err := os.Open(os.DevNull) // cannot be written to
		if err != nil {
			t.Fatal(err)
		}
		f.out = broken
		if _, err := f.Write([]byte("more")); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Write: %v", err)
		}
		f.out = good
		broken.Close()
		var kept *KeptError
		if err := f.Commit(); !errors.As(err, &kept) || kept.Name != filepath.Join(dir, "out.partial.pcap") {
			t.Errorf("Commit: %v", err)
		}
		holds(t, dir, want)
	}
}

func TestGrow(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "cap.pcapng"), "old")
	f, err := CreateVisible(context.Background(), filepath.Join(dir, "cap.pcapng"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "cap_002.pcapng"); f.Name() != want {
		t.Errorf("named %s, want %s", f.Name(), want)
	}
	writeTo(t, f, "content")
	want := map[string]string{"cap.pcapng": "old", "cap_002.pcapng": "content"}
	holds(t, dir, want)
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, want)

	f, err = CreateVisible(context.Background(), filepath.Join(dir, "cap.pcapng.gz"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	writeTo(t, f, "flushed")
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(strings.NewReader(read(t, f.Name())))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len("flushed"))
	if _, err := io.ReadFull(z, got); err != nil || string(got) != "flushed" {
		t.Errorf("read %q after Flush, %v", got, err)
	}
	if err := f.Discard(); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, want)
}

// TestSameByAnyWorkers compresses to the same bytes, and leaves nothing running.
func TestSameByAnyWorkers(t *testing.T) {
	data := mixed(4 << 20) // of several pieces in each format
	before := runtime.NumGoroutine()
	for _, ending := range []string{".gz", ".ZST", ".lz4"} {
		name := filepath.Join(t.TempDir(), "out"+ending)
		var want string
		for _, workers := range []int{1, 2, 5, 100, 0} {
			f, err := Create(context.Background(), name, Options{Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			writeTo(t, f, string(data))
			if err := f.Commit(); err != nil {
				t.Fatal(err)
			}
			got := read(t, name)
			if want == "" {
				want = got
			}
			if got != want || len(got) >= len(data) {
				t.Errorf("%s: %d bytes by %d workers, %d by one", ending, len(got), workers, len(want))
			}
		}
		f := create(t, name)
		writeTo(t, f, string(data))
		if err := f.Discard(); err != nil {
			t.Error(err)
		}
	}
	if !wait.For(func() bool { return runtime.NumGoroutine() <= before }) {
		t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
	}
}

func TestPlain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state.gz")
	f, err := Create(context.Background(), name, Options{Plain: true, Private: true})
	if err != nil {
		t.Fatal(err)
	}
	writeTo(t, f, "plain")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Dir(name), map[string]string{"state.gz": "plain"})
}

// mixed is n bytes of which a part does not compress.
func mixed(n int) []byte {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i / 1000)
		if i/gzipBlock%2 == 1 {
			data[i] = byte(random.Uint32())
		}
	}
	return data
}

// TestPark compresses by an ending that the file's name lacks, with its memory freed between writes.
func TestPark(t *testing.T) {
	for _, ending := range []string{"", ".gz", ".zst", ".lz4"} {
		name := filepath.Join(t.TempDir(), "out.gz")
		f, err := Create(t.Context(), name, Options{Plain: true})
		if err != nil {
			t.Fatal(err)
		}
		f.CompressAs(ending)
		want := ""
		for i := range 4 {
			text := strings.Repeat(fmt.Sprintf("part %d ", i), 1+i*9000)
			if _, err := f.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(f.Park(), f.Park()); err != nil {
				t.Fatal(err)
			}
			want += text
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r, got, err := compressed.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(r)
		if got = append(got, rest...); err != nil || string(got) != want || r.Compressed() != (ending != "") {
			t.Errorf("%q: %d bytes, want %d, compressed %v, %v", ending, len(got), len(want), r.Compressed(), err)
		}
	}
}
