// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is the size of widened pipes. With the default of 64 KiB both ends sleep and wake
// for each 64 KiB, which takes a third of the time of a run that reads small packets from a
// pipe. It is the default of /proc/sys/fs/pipe-max-size.
const pipeSize = 1 << 20

// WidenPipe enlarges the buffer of f if f is a pipe and the system permits it.
func WidenPipe(f *os.File) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		if n, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0); err == nil && n < pipeSize {
			_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize)
		}
	})
}

// reserve allocates n bytes on disk, without a visible change of the file. It does nothing
// if the file system does not support that.
func reserve(f *os.File, n int64) error {
	if n == 0 {
		return nil
	}
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, n)
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS || err == unix.EINTR {
		return nil
	}
	return os.NewSyscallError("fallocate", err)
}

// MayBeClosed reports whether the process may have been started without standard output. The Go
// runtime then opens the null device there, for reading and writing. So do programs that want no
// output, and nothing distinguishes the two. A shell opens the device only for writing.
func MayBeClosed() bool {
	info, err := os.Stdout.Stat()
	if err != nil || !isSharable(info) {
		return err != nil
	}
	flags, err := unix.FcntlInt(os.Stdout.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}

// startWriteBack makes the system begin to write n bytes of f to disk, from offset at on. It
// does not wait. The sync that follows reports errors.
func startWriteBack(f *os.File, at, n int64) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		_ = unix.SyncFileRange(int(fd), at, n, unix.SYNC_FILE_RANGE_WRITE)
	})
}

// localSystems are file systems whose writes wait for nothing but a disk of this machine.
var localSystems = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true,
	unix.F2FS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true, unix.RAMFS_MAGIC: true,
	unix.OVERLAYFS_SUPER_MAGIC: true,
}

// onLocalSystem reports whether the file system of a path is among localSystems.
func onLocalSystem(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && localSystems[int64(st.Type)]
}
