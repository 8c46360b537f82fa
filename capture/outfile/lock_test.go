// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLocked opens a name twice.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	if file, err := os.Create(name); err != nil || lockFile(file) != nil {
		t.Skip("no locks here")
	} else {
		file.Close()
	}
	f := create(t, name)
	if err := os.Symlink("out", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{name, filepath.Join(dir, "link")} {
		_, err := Create(context.Background(), other, Options{})
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
			t.Errorf("Create(%s): %v", other, err)
		}
		if _, err = LockName(other); !errors.Is(err, ErrLocked) {
			t.Errorf("LockName(%s): %v", other, err)
		}
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	l, err := LockName(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err = Create(context.Background(), name, Options{Locked: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Commit(), l.Unlock()); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"out": "", "link": ""})
}

// TestSweep removes stale files, and none that is in use or somebody else's.
func TestSweep(t *testing.T) {
	useAnonymous = false
	defer func() { useAnonymous = true }()
	dir := t.TempDir()
	used := create(t, filepath.Join(dir, "used"))
	for _, name := range []string{".out.0123abcd" + tempEnding, ".out" + lockEnding, ".other.tmp", "out" + tempEnding} {
		put(t, filepath.Join(dir, name), "")
	}
	Sweep(filepath.Join(dir, "any"))
	want := map[string]string{
		".other.tmp": "", "out" + tempEnding: "",
		used.dest.(*replacing).temp: "", ".used" + lockEnding: fmt.Sprintln(os.Getpid()),
	}
	if lockFile(used.out) != nil {
		t.Skip("no locks here")
	}
	holds(t, dir, want)
	if err := used.Discard(); err != nil {
		t.Fatal(err)
	}
}
