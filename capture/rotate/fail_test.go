package rotate

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

// oneByOne makes a batch of each packet of a stream.
func oneByOne(t *testing.T, g *capturetest.Forge) (batches []*capture.Batch) {
	t.Helper()
	if err := capturetest.Each(t, chunked(t, g.Bytes(), 2048), func(b *capture.Batch) {
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

// spoil has every further write to the file being written fail.
func spoil(t *testing.T, r *Writer) {
	t.Helper()
	if err := r.file.out.Discard(); err != nil {
		t.Fatal(err)
	}
}

// TestRotationOutlastsFailures fails in the middle of a file, at its end and at its
// beginning, and goes on with the next packet: only the packets of that file and
// those that came while it had failed are lost.
func TestRotationOutlastsFailures(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a folder with an open file cannot be renamed on Windows")
	}
	g := &capturetest.Forge{Order: binary.BigEndian}
	g.Section(encoding.UnknownLength)
	g.Iface(1, 0)
	const sent = 40
	for i := range sent {
		if i == 17 { // learned while nothing can be written
			g.Section(encoding.UnknownLength)
			g.Iface(1, 0)
		}
		g.Enhanced(0, uint64(i)*1e6, []byte{byte(i)}, 1)
	}
	for _, tt := range []struct {
		name   string
		damage func(r *Writer) (mend func())
		files  []string
		lost   uint64
	}{
		{"writing", func(r *Writer) func() {
			spoil(t, r)
			return func() {}
		}, []string{"000000", "000025", "000030"}, 15},
		// The file being written then is complete where its folder is.
		{"naming and making files", func(r *Writer) func() {
			folder := filepath.Dir(r.name)
			if err := os.Rename(folder, folder+"-away"); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := os.Rename(folder+"-away", folder); err != nil {
					t.Fatal(err)
				}
			}
		}, []string{"000000", "000010", "000025", "000030"}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "files")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			r := newRotation(t, filepath.Join(dir, "out.pcapng"), Options{Every: 10 * time.Second})
			mend := func() {}
			for i, b := range oneByOne(t, g) {
				if i == 15 {
					mend = tt.damage(r)
				}
				r.settle()
				if i == 25 {
					if r.Err() == nil {
						t.Fatal("nothing failed")
					}
					mend()
					r.Retry()
				}
				_ = r.Write(b, nil) // a failure to complete a file may come later
				r.settle()
				err := r.Err()
				if (err != nil) != (i >= 20 && i < 25) {
					t.Fatalf("packet %d: %v", i, err)
				}
				if err != nil && !strings.Contains(err.Error(), r.name[:len(r.name)-len(".pcapng")]) {
					t.Errorf("the error does not name the file: %v", err)
				}
			}
			if err := r.Commit(); err != nil {
				t.Fatal(err)
			}
			got, n := readRotated(t, dir), 0
			for i, want := range tt.files {
				if i >= len(got.names) || got.names[i] != "out-19700101T"+want+".000Z.pcapng" {
					t.Fatalf("%q", got.names)
				}
				n += len(capturetest.PacketsOf(t, chunked(t, got.files[i], 2048)))
			}
			if s := r.Stats(); s.Packets != uint64(n) || s.Lost != tt.lost || s.Packets+s.Lost != sent || s.Files != 3 || len(got.files) != len(tt.files) {
				t.Errorf("%+v with %d packets in %q", s, n, got.names)
			}
		})
	}
}

// TestRotationEnds in other ways than by Commit alone.
func TestRotationEnds(t *testing.T) {
	dir := t.TempDir()
	batches := oneByOne(t, capturetest.Pcap(1, 12, 1, 0))
	r := newRotation(t, filepath.Join(dir, "out"), Options{Every: 10 * time.Second})
	for _, b := range batches {
		if err := r.Write(b, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(r.Close(), r.Discard(), r.Discard()); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(batches[0], nil); !errors.Is(err, outfile.ErrClosed) {
		t.Errorf("Write after Discard: %v", err)
	}
	if err := r.Commit(); !errors.Is(err, outfile.ErrClosed) {
		t.Errorf("Commit after Discard: %v", err)
	}
	if got := readRotated(t, dir); len(got.files) != 1 || r.Stats().Lost+r.Stats().Packets != 12 {
		t.Errorf("%q, %+v", got.names, r.Stats())
	}

	r = newRotation(t, filepath.Join(dir, "fails"), Options{Size: 100})
	if err := r.Write(batches[0], nil); err != nil {
		t.Fatal(err)
	}
	spoil(t, r)
	if err := r.Close(); !errors.Is(err, outfile.ErrClosed) {
		t.Errorf("Close: %v", err)
	}
	if err := r.Commit(); !errors.Is(err, outfile.ErrClosed) {
		t.Errorf("Commit: %v", err)
	}
}

// TestRotationRefuses what can be no files.
func TestRotationRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"-", "/dev/stdout", dir, os.DevNull} {
		if _, err := New(name, Options{Size: 1}); !errors.Is(err, ErrCannotRotate) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", filepath.Join(dir, "no", "such"), filepath.Join(dir, strings.Repeat("x", 240))} {
		var path *fs.PathError
		if _, err := New(name, Options{Size: 1}); !errors.As(err, &path) || path.Path != name {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got := readRotated(t, dir); len(got.names) != 0 {
		t.Errorf("left behind: %q", got.names)
	}
}

func TestRotationNames(t *testing.T) {
	at := time.Date(2026, 11, 21, 22, 0, 0, 5_900_000, time.UTC).UnixNano()
	for _, tt := range []struct{ name, want string }{
		{"cap.pcapng", "cap-20261121T220000.005Z.pcapng"},
		{"cap.pcapng.zst", "cap-20261121T220000.005Z.pcapng.zst"},
		{"a.b/c.d.pcap.GZ", "a.b/c.d-20261121T220000.005Z.pcap.GZ"},
		{"a.b/cap", "a.b/cap-20261121T220000.005Z"},
		{"cap.lz4", "cap-20261121T220000.005Z.lz4"},
		{".cap", ".cap-20261121T220000.005Z"},
	} {
		n := newRotationNames(filepath.FromSlash(tt.name), 0)
		n.begin(at)
		if got := filepath.ToSlash(n.next()); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	for every, want := range map[time.Duration][]string{
		0: {
			"x-00000000T000000.000Z", "x-00000000T000000.000Z_002", "x-19691231T235959.999Z", "x-20261121T220000.005Z",
			"x-20261121T220000.005Z_002", "x-20261121T220000.005Z_003", "x-20261121T220000.005Z_004", "x-20261121T220000.006Z",
		},
		time.Hour: { // the second before is of the interval before
			"x-00000000T000000.000Z", "x-00000000T000000.000Z_002", "x-19691231T235959.999Z", "x-20261121T220000.005Z",
			"x-20261121T220000.005Z_002", "x-20261121T215959.005Z", "x-20261121T215959.005Z_002", "x-20261121T220000.006Z",
		},
	} {
		n := newRotationNames("x", every)
		var got []string
		for _, first := range []int64{capture.NoTime, capture.NoTime, -1, at, at + 1, at - 1e9, capture.NoTime, at + 1e6} {
			n.begin(first)
			got = append(got, n.next())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestStartOf(t *testing.T) {
	for _, tt := range []struct {
		t    int64
		unit time.Duration
		want int64
	}{
		{0, time.Hour, 0},
		{-1, time.Second, -1e9},
		{1999, 1000, 1000},
		{capture.NoTime + 1, time.Hour, capture.NoTime + 1},
	} {
		if got := startOf(tt.t, tt.unit); got != tt.want {
			t.Errorf("startOf(%d, %v) = %d, want %d", tt.t, tt.unit, got, tt.want)
		}
	}
	c := rotationClock{every: time.Hour, end: capture.NoTime}
	const late = 1<<63 - 2
	for range 2 {
		if c.over(late) || c.end != 1<<63-1 {
			t.Errorf("the last interval ends at %d", c.end)
		}
	}
}
