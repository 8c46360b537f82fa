// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inMountNamespace runs a test in a process that has mounts of its own, and reports
// whether this is that process.
func inMountNamespace(t *testing.T) bool {
	t.Helper()
	const inside = "OUTFILE_TEST_INSIDE"
	if os.Getenv(inside) != "" {
		return true
	}
	if os.Getuid() != 0 {
		t.Skip("only root may mount")
	}
	cmd := exec.Command("unshare", "--mount", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else if strings.Contains(string(out), "--- SKIP") {
		t.Skipf("%s", out)
	}
	return false
}

func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		t.Skipf("mount %s: %v", target, err)
	}
	t.Cleanup(func() { _ = unix.Unmount(target, unix.MNT_DETACH) })
}

// tmpfs mounts an empty file system.
func tmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	mount(t, "tmpfs", dir, "tmpfs", 0, "size="+size)
	return dir
}

// TestBindMounted replaces a file that is a mount itself, as a container's may be: the
// content is copied, and nothing hidden is left.
func TestBindMounted(t *testing.T) {
	if !inMountNamespace(t) {
		return
	}
	bothWays(t, func(t *testing.T) {
		host, dir := t.TempDir(), t.TempDir()
		put(t, filepath.Join(host, "file"), strings.Repeat("old", 1000))
		name := filepath.Join(dir, "out")
		put(t, name, "")
		mount(t, filepath.Join(host, "file"), name, "", unix.MS_BIND, "")
		f := create(t, name)
		writeTo(t, f, "new")
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		holds(t, dir, map[string]string{"out": "new"})
		holds(t, host, map[string]string{"file": "new"})
	})
}

// TestBindMountedOnFullDisk has no room for the copy: the older file stays, and the new file is
// next to it.
func TestBindMountedOnFullDisk(t *testing.T) {
	if !inMountNamespace(t) {
		return
	}
	host, dir := tmpfs(t, "64k"), t.TempDir()
	put(t, filepath.Join(host, "file"), "old")
	name := filepath.Join(dir, "out.pcap")
	put(t, name, "")
	mount(t, filepath.Join(host, "file"), name, "", unix.MS_BIND, "")
	f := create(t, name)
	content := strings.Repeat("new", 100_000)
	writeTo(t, f, content)
	var kept *KeptError
	if err := f.Commit(); !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &kept) {
		t.Errorf("Commit: %v", err)
	}
	holds(t, dir, map[string]string{"out.pcap": "old", "out.partial.pcap": content})
}

// TestFolderReadOnly replaces a writable file in a folder that may not be written.
func TestFolderReadOnly(t *testing.T) {
	if !inMountNamespace(t) {
		return
	}
	elsewhere := t.TempDir()
	t.Setenv("TMPDIR", elsewhere)
	host, dir := t.TempDir(), tmpfs(t, "64k")
	put(t, filepath.Join(host, "file"), "old")
	name := filepath.Join(dir, "out")
	put(t, name, "")
	if err := unix.Mount("tmpfs", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skip(err)
	}
	mount(t, filepath.Join(host, "file"), name, "", unix.MS_BIND, "")
	bothWays(t, func(t *testing.T) {
		f := create(t, name)
		writeTo(t, f, "new")
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		holds(t, dir, map[string]string{"out": "new"})
		holds(t, elsewhere, nil)
	})
	f := create(t, name)
	writeTo(t, f, "newer")
	if got, err := f.Keep(); err != nil || got != filepath.Join(elsewhere, "out.partial") {
		t.Errorf("kept as %s, %v", got, err)
	}
	holds(t, dir, map[string]string{"out": "new"})
	holds(t, elsewhere, map[string]string{"out.partial": "newer"})

	if _, err := Create(context.Background(), filepath.Join(dir, "another"), Options{}); !errors.Is(err, syscall.EROFS) {
		t.Errorf("Create: %v", err)
	}
}

// TestStickyFolder replaces the file of a different user, which may be written but not
// renamed over.
func TestStickyFolder(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may make files of other users")
	}
	const nobody = 65534
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	put(t, name, "old")
	if err := errors.Join(os.Chmod(dir, 0o777|fs.ModeSticky), os.Chmod(name, 0o666), os.Chown(name, 1, 1)); err != nil {
		t.Fatal(err)
	}
	for parent := filepath.Dir(dir); parent != "/" && parent != "/tmp"; parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Skip(err)
		}
	}
	err := asUser(nobody, func() error {
		f, err := Create(context.Background(), name, Options{})
		if err != nil {
			return err
		}
		_, err = f.Write([]byte("new"))
		return errors.Join(err, f.Commit())
	})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"out": "new"})
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 1 || info.Mode() != 0o666 {
		t.Errorf("owner %d, mode %v", st.Uid, info.Mode())
	}
}

// asUser runs f with the rights of a user to files.
func asUser(uid int, f func() error) error {
	err := syscall.Setresuid(-1, uid, -1)
	if err != nil {
		return err
	}
	err = f()
	return errors.Join(err, syscall.Setresuid(-1, 0, -1))
}

// TestFullDisk keeps the whole writes that fit.
func TestFullDisk(t *testing.T) {
	if !inMountNamespace(t) {
		return
	}
	bothWays(t, func(t *testing.T) {
		dir := tmpfs(t, "64k")
		record := strings.Repeat("r", 1000)
		f := create(t, filepath.Join(dir, "out.pcap"))
		written := 0
		for err := error(nil); err == nil; written++ {
			_, err = f.Write([]byte(record))
		}
		written--
		var kept *KeptError
		if err := f.Commit(); !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &kept) {
			t.Errorf("Commit: %v", err)
		}
		holds(t, dir, map[string]string{"out.partial.pcap": strings.Repeat(record, written)})
	})
}

// TestOwnerStays replaces the file of a different user.
func TestOwnerStays(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may make files of other users")
	}
	name := filepath.Join(t.TempDir(), "out")
	put(t, name, "old")
	if err := errors.Join(os.Chmod(name, 0o640), os.Chown(name, 1, 2)); err != nil {
		t.Fatal(err)
	}
	if err := create(t, name).Commit(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 1 || st.Gid != 2 || info.Mode() != 0o640 {
		t.Errorf("owner %d:%d, mode %v", st.Uid, st.Gid, info.Mode())
	}
}

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
