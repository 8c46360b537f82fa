package capture

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// create opens an output in a test.
func create(t *testing.T, name string) *Output {
	t.Helper()
	o, err := Create(name, OutputOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func writeTo(t *testing.T, o *Output, s string) {
	t.Helper()
	if n, err := o.Write([]byte(s)); n != len(s) || err != nil {
		t.Fatalf("Write: %d, %v", n, err)
	}
}

// folder checks that a folder holds these files with this content, and nothing
// else.
func folder(t *testing.T, dir string, want map[string]string) {
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

func TestOutputCommit(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	o, err := Create(name, OutputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	writeTo(t, o, "content")
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there before Commit: %v", err)
	}
	for range 2 {
		if err := o.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Abort(); err != nil {
		t.Errorf("Abort after Commit: %v", err)
	}
	if _, err := o.Write([]byte("x")); err == nil {
		t.Error("Write after Commit was taken")
	}
	folder(t, dir, map[string]string{"out": "content"})

	plain, err := os.Create(filepath.Join(dir, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	want, err := plain.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.Stat(name); err != nil || got.Mode() != want.Mode() {
		t.Errorf("mode %v, %v; want that of any new file, %v", got.Mode(), err, want.Mode())
	}
}

func TestOutputAbort(t *testing.T) {
	for _, ending := range []string{"", ".gz", ".zst", ".lz4"} {
		dir := t.TempDir()
		name := filepath.Join(dir, "out"+ending)
		if err := os.WriteFile(name, []byte("old"), 0o666); err != nil {
			t.Fatal(err)
		}
		o := create(t, name)
		writeTo(t, o, strings.Repeat("x", 3*outBufferSize))
		for range 2 {
			if err := o.Abort(); err != nil {
				t.Errorf("Abort: %v", err)
			}
		}
		if err := o.Commit(); !errors.Is(err, errClosed) {
			t.Errorf("Commit after Abort: %v", err)
		}
		if _, err := o.Write([]byte("x")); !errors.Is(err, errClosed) {
			t.Errorf("Write after Abort: %v", err)
		}
		folder(t, dir, map[string]string{"out" + ending: "old"})
	}
}

func TestOutputRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"", dir, filepath.Join(dir, "no", "such")} {
		_, err := Create(name, OutputOptions{})
		var path *fs.PathError
		if !errors.As(err, &path) || path.Path != name {
			t.Errorf("Create(%q): %v", name, err)
		}
	}
	folder(t, dir, nil)
}

// TestOutputLongName has a name as long as file systems allow.
func TestOutputLongName(t *testing.T) {
	dir := t.TempDir()
	name := strings.Repeat("é", 127)
	o := create(t, filepath.Join(dir, name))
	if err := o.Commit(); err != nil {
		t.Fatal(err)
	}
	folder(t, dir, map[string]string{name: ""})
}

// TestOutputFull fails after every number of bytes: the old file stays and
// nothing else does.
func TestOutputFull(t *testing.T) {
	content := strings.Repeat("some text that can be compressed\n", 10)
	for _, ending := range []string{"", ".gz", ".zst", ".lz4"} {
		dir := t.TempDir()
		name := filepath.Join(dir, "out"+ending)
		if err := os.WriteFile(name, []byte("old"), 0o666); err != nil {
			t.Fatal(err)
		}
		for n := 0; ; n++ {
			o := create(t, name)
			last := o.buf
			if o.pack != nil {
				last = o.tail
			}
			full := &failAfter{n}
			last.w = full
			writeTo(t, o, content)
			err := o.Commit()
			if err == nil {
				break // all of it fitted
			}
			if !errors.Is(err, errFull) || !errors.Is(o.Commit(), errFull) {
				t.Fatalf("%s: full after %d bytes: %v", ending, n, err)
			}
			folder(t, dir, map[string]string{"out" + ending: "old"})
			if t.Failed() {
				t.FailNow()
			}
		}
	}
}

func TestOutputCompresses(t *testing.T) {
	g := forgePcap(1, 3000, 1, 0)
	for _, ending := range []string{".gz", ".GZ", ".zst", ".lz4", ".pcap"} {
		name := filepath.Join(t.TempDir(), "out.pcap"+ending)
		o := create(t, name)
		w := NewWriter(o, false)
		rnd := rand.New(rand.NewPCG(1, 1))
		var want []packet
		if err := each(t, source(t, g.bytes(), "in"), func(b *Batch) {
			drop := make([]uint64, (len(b.Frames)+63)/64)
			for i := range b.Frames {
				if rnd.IntN(2) == 0 {
					drop[i/64] |= 1 << (i % 64)
				} else {
					want = append(want, packetOf(b, i))
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
		if packed := !bytes.Equal(data[:4], g.bytes()[:4]); packed != (ending != ".pcap") {
			t.Errorf("%s: compressed: %v", ending, packed)
		}
		if err := alike(exactly)(packets(t, data), want); err != nil {
			t.Errorf("%s: %v", ending, err)
		}
	}
}

// TestOutputSameByAnyWorkers compresses to the same bytes, and leaves nothing running.
func TestOutputSameByAnyWorkers(t *testing.T) {
	data := mixed(4 << 20) // of several pieces in each format
	before := runtime.NumGoroutine()
	for _, ending := range []string{".gz", ".zst", ".lz4"} {
		name := filepath.Join(t.TempDir(), "out"+ending)
		var want []byte
		for _, workers := range []int{1, 2, 5, 100, 0} {
			o, err := Create(name, OutputOptions{Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			writeTo(t, o, string(data))
			if err := o.Commit(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes by %d workers, %d by one", ending, len(got), workers, len(want))
			}
		}
		o := create(t, name)
		writeTo(t, o, string(data))
		if err := o.Abort(); err != nil {
			t.Error(err)
		}
	}
	waitForGoroutines(t, before)
}

// TestOutputIsInput writes a file while it is read under the same name.
func TestOutputIsInput(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be replaced on Windows")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "both.pcap")
	g := forgePcap(0, 500, 1, 0)
	if err := os.WriteFile(name, g.bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	src, err := Open(name, Options{ChunkSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	o := create(t, name)
	w := NewWriter(o, false)
	if err := each(t, src, func(b *Batch) {
		if err := w.Write(b, nil); err != nil {
			t.Fatal(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), o.Commit()); err != nil {
		t.Fatal(err)
	}
	folder(t, dir, map[string]string{"both.pcap": string(g.bytes())})
}

// TestOutputGathers: a regular file gets large writes, everything else each
// batch at once.
func TestOutputGathers(t *testing.T) {
	o := create(t, filepath.Join(t.TempDir(), "out"))
	defer o.Abort()
	var b Batch
	src := source(t, forgePcap(0, 3, 1, 0).bytes(), "in")
	defer src.Close()
	if err := src.Next(&b); err != nil {
		t.Fatal(err)
	}
	var direct bytes.Buffer
	if err := errors.Join(NewWriter(o, false).Write(&b, nil), NewWriter(&direct, false).Write(&b, nil)); err != nil {
		t.Fatal(err)
	}
	if n := len(o.buf.buf); n != direct.Len() || n == 0 {
		t.Errorf("%d bytes gathered for the file, %d written directly", n, direct.Len())
	}
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
