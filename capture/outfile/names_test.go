// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestSame compares names of the same file, where the output committed last would take the other's
// place, and of different files.
func TestSame(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"file", "hard-1"} {
		if err := os.WriteFile(path(name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(path("hard-1"), path("hard-2")); err != nil {
		t.Skip(err)
	}
	if err := os.Mkdir(path("sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"link": "file", "link-to-link": "link", "dangling": "missing", "sub/up": "../missing", "folder": "sub", "loop": "loop",
	} {
		if err := os.Symlink(to, path(link)); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"file", "", false},
		{"file", "./file", true},
		{"file", path("file"), true},
		{"file", "sub/../file", true},
		{"file", "link", true},
		{"file", "link-to-link", true},
		{"missing", "dangling", true},
		{"missing", "sub/up", true},
		{"sub/new", "folder/new", true},
		{"-", "/dev/stdout", true},
		{"file", "missing", false},
		{"hard-1", "hard-2", true},
		{"loop", "file", false},
		{"-", "file", false},
		{os.DevNull, os.DevNull, false},
	} {
		if got := Same(c.a, c.b); got != c.want {
			t.Errorf("Same(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
		}
		if got := Same(c.b, c.a); got != c.want {
			t.Errorf("Same(%q, %q) = %v, want %v", c.b, c.a, got, c.want)
		}
	}
}

// TestRenameNew replaces nothing.
func TestRenameNew(t *testing.T) {
	dir := t.TempDir()
	d, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	for _, name := range []string{"from", "to"} {
		put(t, filepath.Join(dir, name), name)
	}
	if err := d.renameNew("from", "to"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "to")), d.renameNew("from", "to")); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"to": "from"})
	if err := d.renameNew("none", "new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}

// TestSetAside keeps every file under a name of its own.
func TestSetAside(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state")
	for _, want := range []string{"001", "002", "003"} {
		if err := os.WriteFile(name, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		aside, err := SetAside(name)
		if err != nil || aside != name+".mismatch_"+want {
			t.Errorf("%s, %v: want number %s", aside, err, want)
		}
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the name is taken: %v", err)
		}
	}
	for _, want := range []string{"001", "002", "003"} {
		if got, err := os.ReadFile(name + ".mismatch_" + want); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", want, got, err)
		}
	}
	if _, err := SetAside(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing to set aside: %v", err)
	}
}
