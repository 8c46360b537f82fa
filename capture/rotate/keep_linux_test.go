// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// immutable is FS_IMMUTABLE_FL of linux/fs.h.
const immutable = 0x10

// sticky makes a file that even root cannot remove, until the test ends.
func sticky(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	set := func(flags int) error {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		return unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, flags)
	}
	if err := set(immutable); err != nil {
		t.Skipf("immutable files: %v", err)
	}
	t.Cleanup(func() { _ = set(0) })
}

// TestKeepsWhatItMust has an old file that cannot be removed: Warn gets it once, and no packet
// is lost.
func TestKeepsWhatItMust(t *testing.T) {
	dir := t.TempDir()
	var warnings []error
	r := newFile(t, filepath.Join(dir, "out.pcap"), Options{Every: time.Second, Keep: 2, Warn: func(err error) { warnings = append(warnings, err) }})
	batches := oneByOne(t, capturetest.Pcap(1, 12, 1, 0))
	for i, b := range batches {
		if i == 2 {
			r.waitCompleted()
			first := filepath.Join(dir, readRotated(t, dir).names[0])
			sticky(t, first)
		}
		if err := r.Write(b, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	if s := r.Stats(); s.Packets != 12 || s.Lost != 0 {
		t.Errorf("%+v", s)
	}
	if len(warnings) != 1 || !errors.Is(warnings[0], os.ErrPermission) {
		t.Errorf("%v", warnings)
	}
	if got := readRotated(t, dir).names; len(got) != 2 {
		t.Errorf("%q", got)
	}
}

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
