package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestSetAside gives files names that no other has.
func TestSetAside(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state")
	for i, want := range []string{".mismatch_001", ".mismatch_002"} {
		if err := os.WriteFile(name, []byte{byte(i)}, 0o600); err != nil {
			t.Fatal(err)
		}
		if aside, err := SetAside(name); aside != name+want || err != nil {
			t.Errorf("%s, %v", aside, err)
		}
		if data, err := os.ReadFile(name + want); err != nil || len(data) != 1 || data[0] != byte(i) {
			t.Errorf("%v, %v", data, err)
		}
	}
	if _, err := SetAside(name); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
