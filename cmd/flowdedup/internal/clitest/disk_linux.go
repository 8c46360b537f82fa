// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// SmallDisk returns a folder with room for 512 KiB, visible only to the test's thread and
// its children.
func SmallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Unshare(unix.CLONE_NEWNS)
	if err == nil {
		err = errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("small", dir, "tmpfs", 0, "size=512k"))
	}
	if err != nil {
		t.Skip("no small disk: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Fill takes all room of a disk.
func Fill(t *testing.T, dir string) (name string) {
	t.Helper()
	name = filepath.Join(dir, "filler")
	if err := os.WriteFile(name, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal("the disk is not small: ", err)
	}
	return name
}

// MemoryCgroup makes a cgroup with a memory limit, of either version.
func MemoryCgroup(t *testing.T, limit int) (dir string) {
	t.Helper()
	for _, c := range []struct{ mount, file string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"},
	} {
		dir = filepath.Join(c.mount, "flowdedup-test-"+strconv.Itoa(os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() { wait.Until(t, "the cgroup to be empty", func() bool { return os.Remove(dir) == nil }) })
		if os.WriteFile(filepath.Join(dir, c.file), []byte(strconv.Itoa(limit)), 0) == nil {
			return dir
		}
	}
	t.Skip("no cgroup with a limit of memory can be made here")
	return ""
}
