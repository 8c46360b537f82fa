// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

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
