// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"", dir, filepath.Join(dir, "no", "such")} {
		_, err := Create(context.Background(), name, Options{})
		var path *fs.PathError
		if !errors.As(err, &path) || path.Path != name {
			t.Errorf("Create(%q): %v", name, err)
		}
	}
	holds(t, dir, nil)
}

// TestLongName has a name as long as file systems allow.
func TestLongName(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		dir := t.TempDir()
		name := strings.Repeat("é", 127)
		f := create(t, filepath.Join(dir, name))
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		holds(t, dir, map[string]string{name: ""})
	})
}

// TestChangedInput replaces the input itself, which others may have changed.
func TestChangedInput(t *testing.T) {
	for _, change := range []bool{false, true} {
		dir := t.TempDir()
		name := filepath.Join(dir, "both.pcap")
		put(t, name, "old")
		input, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Create(context.Background(), name, Options{Input: input})
		if err != nil {
			t.Fatal(err)
		}
		writeTo(t, f, "new")
		want := map[string]string{"both.pcap": "new"}
		if change {
			put(t, name, "older and longer")
			want = map[string]string{"both.pcap": "older and longer", "both.partial.pcap": "new"}
		}
		if err := f.Commit(); errors.Is(err, ErrChanged) != change {
			t.Errorf("changed=%v: %v", change, err)
		}
		holds(t, dir, want)
	}
}

// TestMovedFolder moves the folder during the run: the file is complete where the
// folder is, and the error says where.
func TestMovedFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a folder with an open file cannot be renamed on Windows")
	}
	bothWays(t, func(t *testing.T) {
		dir := t.TempDir()
		was, is := filepath.Join(dir, "was"), filepath.Join(dir, "is")
		if err := os.Mkdir(was, 0o700); err != nil {
			t.Fatal(err)
		}
		f := create(t, filepath.Join(was, "out"))
		writeTo(t, f, "content")
		if err := os.Rename(was, is); err != nil {
			t.Fatal(err)
		}
		if err := f.Commit(); !errors.Is(err, ErrMoved) || runtime.GOOS == "linux" && !strings.Contains(err.Error(), is) {
			t.Errorf("Commit: %v", err)
		}
		holds(t, is, map[string]string{"out": "content"})
	})
}

// TestTakenName has somebody replace the hidden file: what was written is committed all
// the same, and not what took its place.
func TestTakenName(t *testing.T) {
	useAnonymous = false
	defer func() { useAnonymous = true }()
	dir := t.TempDir()
	f := create(t, filepath.Join(dir, "out"))
	writeTo(t, f, "content")
	temp := filepath.Join(dir, f.dest.(*replacing).temp)
	if err := os.Remove(temp); err != nil {
		t.Skip(err) // an open file cannot be removed on Windows
	}
	put(t, temp, "other")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"out": "content", filepath.Base(temp): "other"})
}

func TestCreateNew(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "a.pcap"), "old")
		next := numbered(SplitName(filepath.Join(dir, "a.pcap")))
		f, err := CreateNew(filepath.Join(dir, "x.pcap"), next, Options{})
		if err != nil {
			t.Fatal(err)
		}
		writeTo(t, f, "new")
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(dir, "a_002.pcap"); f.Name() != want {
			t.Errorf("named %s, want %s", f.Name(), want)
		}
		holds(t, dir, map[string]string{"a.pcap": "old", "a_002.pcap": "new"})
	})
}
