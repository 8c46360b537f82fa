// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package outfile

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openAtOnce is a flag of open, which then fails with ENXIO if a named pipe has no reader.
const openAtOnce = unix.O_NONBLOCK

// trusts reports whether a file of the folder belongs to this user, to root, or to the folder's
// owner, who could do all that the file makes this program do.
func (d *folder) trusts(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	own, err := d.stat(".")
	if err == nil {
		of, known := own.Sys().(*syscall.Stat_t)
		ok = known && st.Uid == of.Uid
	}
	return err == nil && ok || st.Uid == 0 || int(st.Uid) == os.Geteuid()
}

// linked reports whether a file has other names.
func linked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || st.Nlink > 1
}

// number returns the number of a file's inode, which a later file of the same name does not have.
func number(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}

// lockFile locks an open file for as long as it is open, or returns ErrLocked if it is
// locked already.
func lockFile(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch err {
		case unix.EINTR:
			continue
		case unix.EWOULDBLOCK:
			return ErrLocked
		}
		return err
	}
}

// keepOwner gives a file the owner and the group of the file that it replaces, as far as that is
// permitted.
func keepOwner(f *os.File, old fs.FileInfo) {
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if f.Chown(int(st.Uid), int(st.Gid)) != nil {
		_ = f.Chown(-1, int(st.Gid)) // a group of ours
	}
}
