// SPDX-License-Identifier: Apache-2.0

//go:build unix

package outfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestKeepsMode(t *testing.T) {
	for _, mode := range []fs.FileMode{0o600, 0o640, 0o666, 0o777} {
		name := filepath.Join(t.TempDir(), "out")
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Chmod(name, mode)); err != nil {
			t.Fatal(err)
		}
		o := create(t, name)
		if info, err := o.out.Stat(); err != nil || info.Mode() != mode {
			t.Errorf("before Commit: mode %v, %v; want %v", info.Mode(), err, mode)
		}
		if err := o.Commit(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(name); err != nil || info.Mode() != mode {
			t.Errorf("mode %v, %v; want %v", info.Mode(), err, mode)
		}
	}
}

func TestReadOnlyFile(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("nothing is read-only for root")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	if err := os.WriteFile(name, []byte("old"), 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(context.Background(), name, Options{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Create: %v", err)
	}
	holds(t, dir, map[string]string{"out": "old"})
}

func TestSymlinks(t *testing.T) {
	for _, tt := range []struct{ name, link, target string }{
		{"relative", "target", "target"},
		{"through a folder", "sub/../sub/target", "sub/target"},
		{"two links", "second", "target"},
		{"through a linked folder", "other/target", "sub/target"},
		{"out of a linked folder", "deep/../target", "sub/target"},
	} {
		for _, exists := range []bool{true, false} {
			dir := t.TempDir()
			real := filepath.Join(dir, tt.target)
			err := errors.Join(os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o777), os.Symlink("sub", filepath.Join(dir, "other")),
				os.Symlink("sub/deep", filepath.Join(dir, "deep")),
				os.Symlink("target", filepath.Join(dir, "second")), os.Symlink(tt.link, filepath.Join(dir, "link")))
			if exists {
				err = errors.Join(err, os.WriteFile(real, []byte("old"), 0o666))
			}
			if err != nil {
				t.Fatal(err)
			}
			o := create(t, filepath.Join(dir, "link"))
			writeTo(t, o, "new")
			if err := o.Commit(); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if info, err := os.Lstat(filepath.Join(dir, "link")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("%s: the link was replaced: %v, %v", tt.name, info.Mode(), err)
			}
			if info, err := os.Lstat(real); err != nil || !info.Mode().IsRegular() {
				t.Errorf("%s: target: %v, %v", tt.name, info, err)
			}
			if got, err := os.ReadFile(real); err != nil || string(got) != "new" {
				t.Errorf("%s: target holds %q, %v", tt.name, got, err)
			}
		}
	}
}

func TestSymlinkLoop(t *testing.T) {
	name := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink("loop", name); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(context.Background(), name, Options{}); err == nil {
		t.Error("a link to itself was opened")
	}
}

func TestFIFO(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	got := make(chan string)
	go func() {
		f, err := os.Open(name)
		if err != nil {
			got <- err.Error()
			return
		}
		defer f.Close()
		b, _ := io.ReadAll(f)
		got <- string(b)
	}()
	o := create(t, name)
	writeTo(t, o, "through the pipe")
	if err := o.Commit(); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s != "through the pipe" {
		t.Errorf("read %q", s)
	}
	if info, err := os.Lstat(name); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the FIFO was replaced: %v, %v", info, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestDevices(t *testing.T) {
	before, err := os.Stat(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	o := create(t, os.DevNull)
	writeTo(t, o, "nothing")
	if err := o.Commit(); err != nil {
		t.Error(err)
	}
	if err := create(t, os.DevNull).Discard(); err != nil {
		t.Error(err)
	}
	if after, err := os.Stat(os.DevNull); err != nil || after.Mode() != before.Mode() || !os.SameFile(before, after) {
		t.Errorf("%s became %v, %v", os.DevNull, after, err)
	}

	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip(err)
	}
	o = create(t, full)
	if _, err := o.Write([]byte("x")); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), full) {
		t.Errorf("Write: %v", err)
	}
	if err := o.Commit(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Commit after a failed Write: %v", err)
	}
	if info, err := os.Stat(full); err != nil || info.Mode()&fs.ModeDevice == 0 {
		t.Errorf("%s became %v, %v", full, info, err)
	}
}

// TestBrokenPipe: the reason stays visible, as programs end quietly when
// their reader has gone.
func TestBrokenPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	stdout := os.Stdout
	os.Stdout = w
	defer func() { os.Stdout = stdout; w.Close() }()
	o := create(t, "-")
	if _, err := o.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("Write: %v", err)
	}
	if err := o.Commit(); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("Commit: %v", err)
	}
	if _, err := w.Stat(); err != nil {
		t.Errorf("standard output was closed: %v", err)
	}
}

// TestRemovedVisible removes a file with a name during the run, by itself or with its folder. The
// error does not say where it is complete.
func TestRemovedVisible(t *testing.T) {
	for _, removed := range []string{"out", ""} {
		dir := filepath.Join(t.TempDir(), "folder")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := CreateVisible(t.Context(), filepath.Join(dir, "out"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		writeTo(t, f, "content")
		if err := os.RemoveAll(filepath.Join(dir, removed)); err != nil {
			t.Fatal(err)
		}
		if err := f.Commit(); !errors.Is(err, ErrMoved) || strings.Contains(err.Error(), "complete") {
			t.Errorf("%q removed: %v", removed, err)
		}
	}
}
