// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// TestCannotBeNamed has a folder that takes no more names when a file is complete. The file
// then is in the folder for temporary files, or counts as lost if that takes none either.
func TestCannotBeNamed(t *testing.T) {
	for _, elsewhere := range []bool{true, false} {
		dir, other := t.TempDir(), t.TempDir()
		if !elsewhere {
			other = filepath.Join(dir, "missing")
		}
		t.Setenv("TMPDIR", other)
		r := newFile(t, filepath.Join(dir, "out.pcap"), Options{Every: 10 * time.Second})
		for i, b := range oneByOne(t, capturetest.Pcap(1, 15, 1, 0)) {
			if i == 5 {
				sticky(t, dir)
			}
			_ = r.Write(b, nil) // which error comes first does not matter
			r.waitCompleted()
		}
		if err := r.Commit(); err == nil {
			t.Fatal("nothing failed")
		}
		n := 0
		names, _ := filepath.Glob(filepath.Join(other, "*.pcap"))
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			n += len(times(t, content))
		}
		if s := r.Stats(); s.Packets != uint64(n) || s.Packets+s.Lost != 15 || (n > 0) != elsewhere {
			t.Errorf("elsewhere %v: %+v, %d packets in %q", elsewhere, s, n, names)
		}
	}
}
