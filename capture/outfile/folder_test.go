package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

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
