// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func appendTo(t *testing.T, a *Appender, s string) {
	t.Helper()
	if n, err := a.Write([]byte(s)); n != len(s) || err != nil {
		t.Fatalf("Write: %d, %v", n, err)
	}
}

// TestAppender goes on with a new file when the old file was renamed, removed, or is to be
// opened again.
func TestAppender(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be renamed on Windows")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "counts")
	put(t, name, "before\n")
	a, err := OpenAppend(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, a, "1\n")
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	appendTo(t, a, "2\n")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	appendTo(t, a, "3\n")
	a.Reopen()
	appendTo(t, a, "4\n")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"counts": "3\n4\n", "counts.1": "before\n1\n"})
}

func TestAppenderRefuses(t *testing.T) {
	for _, name := range []string{"", t.TempDir(), filepath.Join(t.TempDir(), "no", "such")} {
		_, err := OpenAppend(context.Background(), name)
		var path *fs.PathError
		if !errors.As(err, &path) || path.Path != name {
			t.Errorf("OpenAppend(%q): %v", name, err)
		}
	}
}
