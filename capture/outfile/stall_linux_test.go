// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestMayStall distinguishes files of tmpfs from pipes, standard output and the kernel's
// files.
func TestMayStall(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"-", pipe, "/dev/null", "/proc/self/comm", "/no/such/folder/file"} {
		if !MayStall(name) {
			t.Errorf("%s does not stall", name)
		}
	}
	const tmpfs = "/dev/shm"
	if info, err := os.Stat(tmpfs); err != nil || !info.IsDir() || !onLocalSystem(tmpfs) {
		t.Skip("no tmpfs")
	}
	if MayStall(filepath.Join(tmpfs, "flowdedup-no-such-file")) {
		t.Error("a new file of tmpfs may stall")
	}
}
