// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// folder is an open folder. Operations in it still work after it was moved.
type folder struct {
	fd   int
	path string
}

// openFolder opens a folder, which need not be readable.
func openFolder(path string) (*folder, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &folder{fd: fd, path: path}, nil
}

func (d *folder) close() error { return unix.Close(d.fd) }

func (d *folder) errorOf(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: d.join(name), Err: err}
}

// open opens a file of the folder. It refuses a symbolic link, and never waits, whatever has the
// name.
func (d *folder) open(name string, flags int, mode fs.FileMode) (*os.File, error) {
	if flags&os.O_EXCL == 0 {
		flags |= openAtOnce
	}
	for {
		fd, err := unix.Openat(d.fd, name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, uint32(mode.Perm()))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, d.errorOf("open", name, err)
		}
		return os.NewFile(uintptr(fd), d.join(name)), nil
	}
}

// anonymous makes a file that has no name, so that nothing is left of it if the process
// is killed, or returns errors.ErrUnsupported.
func (d *folder) anonymous(mode fs.FileMode) (*os.File, error) {
	fd, err := unix.Openat(d.fd, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(mode.Perm()))
	switch {
	case err == unix.EOPNOTSUPP, err == unix.EISDIR, err == unix.EINVAL, err == unix.ENOENT:
		return nil, errors.ErrUnsupported
	case err != nil:
		return nil, d.errorOf("open", ".", err)
	}
	// It gets its name by way of /proc, which may not be there.
	if unix.Access(procName(fd), unix.F_OK) != nil {
		_ = unix.Close(fd)
		return nil, errors.ErrUnsupported
	}
	return os.NewFile(uintptr(fd), d.path), nil
}

func procName(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// linkAnonymous gives an anonymous file a name that no file has.
func (d *folder) linkAnonymous(f *os.File, name string) error {
	return d.errorOf("link", name, unix.Linkat(unix.AT_FDCWD, procName(int(f.Fd())), d.fd, name, unix.AT_SYMLINK_FOLLOW))
}

// rename replaces the file of the second name.
func (d *folder) rename(from, to string) error {
	return d.errorOf("rename", to, unix.Renameat(d.fd, from, d.fd, to))
}

// renameNew replaces nothing: it returns fs.ErrExist then. Unlike a second name, a
// rename is seen by programs that wait for files to be moved into a folder.
func (d *folder) renameNew(from, to string) error {
	err := unix.Renameat2(d.fd, from, d.fd, to, unix.RENAME_NOREPLACE)
	if err == unix.EINVAL || err == unix.ENOSYS { // not this file system
		if err = unix.Linkat(d.fd, from, d.fd, to, 0); err == nil {
			return d.remove(from)
		}
	}
	return d.errorOf("rename", to, err)
}

func (d *folder) remove(name string) error {
	return d.errorOf("remove", name, unix.Unlinkat(d.fd, name, 0))
}

// stat describes a file of the folder by a descriptor that opens nothing.
func (d *folder) stat(name string) (fs.FileInfo, error) {
	f, err := d.open(name, unix.O_PATH, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// list opens the folder for reading.
func (d *folder) list() (*os.File, error) {
	return d.open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// currentPath returns where the folder is, or "".
func (d *folder) currentPath() string {
	path, err := os.Readlink(procName(d.fd))
	if err != nil {
		return ""
	}
	return path
}
