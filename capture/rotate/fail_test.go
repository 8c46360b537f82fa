// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

// spoil has every further write to the file being written fail.
func spoil(t *testing.T, r *File) {
	t.Helper()
	if err := r.file.out.Discard(); err != nil {
		t.Fatal(err)
	}
}

// TestOutlastsFailures fails in the middle of a file, at its end and at its beginning, and
// goes on with the next packet: only the packets of that file and of the time of the failure
// are lost.
func TestOutlastsFailures(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a folder with an open file cannot be renamed on Windows")
	}
	g := &capturetest.File{Order: binary.BigEndian}
	g.Section(encoding.UnknownLength)
	g.Interface(1, 0)
	const sent = 40
	for i := range sent {
		if i == 17 { // learned while nothing can be written
			g.Section(encoding.UnknownLength)
			g.Interface(1, 0)
		}
		g.Enhanced(0, uint64(i)*1e6, []byte{byte(i)}, 1)
	}
	for _, tt := range []struct {
		name  string
		spoil func(r *File) (mend func())
		files []string
		lost  uint64
	}{
		{"writing", func(r *File) func() {
			spoil(t, r)
			return func() {}
		}, []string{"000000", "000025", "000030"}, 15},
		// The file being written then is complete where its folder is.
		{"naming and making files", func(r *File) func() {
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
			r := newFile(t, filepath.Join(dir, "out.pcapng"), Options{Every: 10 * time.Second})
			mend := func() {}
			for i, b := range oneByOne(t, g) {
				if i == 15 {
					mend = tt.spoil(r)
				}
				r.waitCompleted()
				if i == 25 {
					if r.err == nil {
						t.Fatal("nothing failed")
					}
					mend()
					r.Retry()
				}
				_ = r.Write(b, nil) // a failure to complete a file may come later
				r.waitCompleted()
				err := r.err
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
				n += len(times(t, got.files[i]))
			}
			if s := r.Stats(); s.Packets != uint64(n) || s.Lost != tt.lost || s.Packets+s.Lost != sent || s.Files != 3 || len(got.files) != len(tt.files) {
				t.Errorf("%+v with %d packets in %q", s, n, got.names)
			}
		})
	}
}

// TestEnds ends a File in other ways than Commit.
func TestEnds(t *testing.T) {
	dir := t.TempDir()
	batches := oneByOne(t, capturetest.Pcap(1, 12, 1, 0))
	r := newFile(t, filepath.Join(dir, "out"), Options{Every: 10 * time.Second})
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

	r = newFile(t, filepath.Join(dir, "fails"), Options{Size: 100})
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
