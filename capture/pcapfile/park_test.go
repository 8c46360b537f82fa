// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// parked opens a file and parks it.
func parked(t testing.TB, path string, opt Options) capture.Source {
	t.Helper()
	src, err := Open(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	Park(src)
	if r := src.(*reader); !r.in.parked {
		t.Fatalf("%s is not parked", path)
	}
	return src
}

func writeFile(t testing.TB, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file that is parked before each read is read as if it never had been.
func TestParkAnywhere(t *testing.T) {
	files := samples()
	files["long records"] = longRecords(12, 150<<10)
	for name, data := range samples() {
		for how, f := range packers {
			files[name+"."+how] = f(t, data)
		}
	}
	for name, data := range files {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, filepath.Join(t.TempDir(), "test"), data)
			src, err := NewReader(bytes.NewReader(data), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := readAll(t, src)
			for _, chunk := range []int{16 << 10, 0} {
				equal(t, readAll(t, parked(t, path, Options{ChunkSize: chunk})), want)
				equal(t, readAll(t, parking10{parked(t, path, Options{ChunkSize: chunk})}), want)
			}
		})
	}
}

// parking10 parks its source before each Next.
type parking10 struct{ capture.Source }

func (p parking10) Next(b *capture.Batch) error {
	Park(p.Source)
	return p.Source.Next(b)
}

// Merging parked files gives what merging open files gives, batch tables included, and
// the first batch has the interfaces of all.
func TestMergeParked(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	dir, rounds := t.TempDir(), 20
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		var paths []string
		for i := range 30 {
			times, now := make([]int, random.IntN(400)), 1000*i*random.IntN(2)
			for k := range times {
				now = max(0, now+random.IntN(40)-5)
				times[k] = now
			}
			data := timed([]capture.Format{capture.FormatPcap, capture.FormatPcapNG}[random.IntN(2)], fmt.Sprint(i), times)
			if random.IntN(3) == 0 {
				data = packers["zstd"](t, data)
			}
			paths = append(paths, writeFile(t, filepath.Join(dir, fmt.Sprint(round, "-", i)), data))
		}
		opened := func(one func(string) capture.Source) []capture.Source {
			var all []capture.Source
			for _, path := range paths {
				all = append(all, one(path))
			}
			return all
		}
		want := readAll(t, Merge(opened(func(path string) capture.Source {
			src, err := Open(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			return src
		}), nil))
		src := Merge(opened(func(path string) capture.Source { return parked(t, path, Options{ChunkSize: MergeChunkSize(300)}) }), nil)
		var first capture.Batch
		if err := src.Next(&first); err != nil {
			t.Fatal(err)
		}
		if len(first.Interfaces) != 30 || len(first.Sections) != 30 {
			t.Fatalf("%d interfaces and %d sections in the first batch", len(first.Interfaces), len(first.Sections))
		}
		var got whole
		got.add(t, &first)
		rest := readAll(t, src)
		for i := range rest.blocks {
			rest.blocks[i].before += len(got.packets)
		}
		got.packets, got.blocks = append(got.packets, rest.packets...), append(got.blocks, rest.blocks...)
		equal(t, got, whole{packets: want.packets, blocks: want.blocks})
		if !slices.Equal(rest.ifaces, want.ifaces) || !slices.Equal(rest.secs, want.secs) {
			t.Fatal("the tables differ")
		}
	}
}

// Files whose times do not overlap are open and in memory a few at a time.
func TestMergeOpensFew(t *testing.T) {
	dir, files := t.TempDir(), 200
	if testing.Short() {
		files = 30
	}
	var sources []capture.Source
	for i := range files {
		times := make([]int, 5000)
		for k := range times {
			times[k] = i*10_000 + k
		}
		path := writeFile(t, filepath.Join(dir, fmt.Sprint(i)), timed(capture.FormatPcapNG, fmt.Sprint(i), times))
		sources = append(sources, parked(t, path, Options{ChunkSize: MergeChunkSize(files)}))
	}
	open := func() (n int) {
		for _, src := range sources {
			if in := src.(*reader).in; !in.parked && !in.closed {
				n++
			}
		}
		return n
	}
	m := Merge(sources, nil)
	var b capture.Batch
	packets := 0
	for m.Next(&b) == nil {
		packets += len(b.Frames)
		bytes := 0
		for _, in := range m.(*merger).heap {
			if c, ok := in.batch.SourceState.(*chunk); ok {
				bytes += cap(c.memory)
			}
			bytes += cap(in.batch.Buf) + 32*cap(in.batch.Frames)
		}
		if n := open(); n > 2 || bytes > files*(16<<10)+4*MergeChunkSize(files) {
			t.Fatalf("%d files open, %d bytes in memory", n, bytes)
		}
	}
	if packets != files*5000 || open() != 0 {
		t.Errorf("%d packets, %d files open at the end", packets, open())
	}
}

// A parked file that was removed or replaced is a failed read.
func TestParkedGone(t *testing.T) {
	data := packets64(capture.FormatPcap, 1000)
	path := filepath.Join(t.TempDir(), "x")
	for name, c := range map[string]struct {
		change func()
		reason error
	}{
		"removed":  {func() {}, fs.ErrNotExist},
		"replaced": {func() { writeFile(t, path, data) }, errReplaced},
	} {
		for _, stored := range [][]byte{data, packers["gzip"](t, data)} {
			src := parked(t, writeFile(t, path, stored), Options{})
			// Linked, so that the file that replaces it cannot get its number.
			if err := os.Rename(path, path+".old"); err != nil {
				t.Fatal(err)
			}
			c.change()
			w := readAll(t, src)
			var failed *capture.ReadError
			if !errors.As(w.err, &failed) || !errors.Is(w.err, c.reason) || failed.Offset != 24+80*int64(len(w.packets)) {
				t.Errorf("%s: %v after %d packets", name, w.err, len(w.packets))
			}
			os.Remove(path)
		}
	}
}

// Sources that cannot be opened again are not parked.
func TestParkNothing(t *testing.T) {
	data := packets64(capture.FormatPcap, 10)
	one := open(t, data, Options{})
	Park(one)
	if w := readAll(t, one); w.err != nil || len(w.packets) != 10 {
		t.Error(len(w.packets), w.err)
	}
	several := Concat([]capture.Source{open(t, data, Options{})})
	Park(several)
	if w := readAll(t, several); w.err != nil || len(w.packets) != 10 {
		t.Error(len(w.packets), w.err)
	}
}
