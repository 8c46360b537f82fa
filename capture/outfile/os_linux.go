package outfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is what pipes are widened to: with the 64 KiB that they have at first both
// ends sleep and wake for each of them, which costs a third of the time of a run that
// reads small packets from a pipe. It is the most that anybody may ask for, unless
// the system is set up otherwise.
const pipeSize = 1 << 20

// WidenPipe gives f more room if it is a pipe, as far as the system lets it.
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

// reserve takes room on the disk for n bytes, without a change that can be seen. Where
// the file system has no such thing it does nothing.
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

// stdoutOpen returns ErrStdoutClosed if nothing was open as standard output when the
// program began. The Go runtime opens the null device there, for reading and writing;
// a shell opens it for writing alone.
func stdoutOpen() error {
	fd := int(os.Stdout.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return ErrStdoutClosed
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	null := st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3)
	if err == nil && null && flags&unix.O_ACCMODE == unix.O_RDWR {
		return ErrStdoutClosed
	}
	return nil
}

// startWriteBack has the system begin to write n bytes of f to disk, from offset at
// on, without waiting for it. What goes wrong shows in the sync that follows.
func startWriteBack(f *os.File, at, n int64) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		_ = unix.SyncFileRange(int(fd), at, n, unix.SYNC_FILE_RANGE_WRITE)
	})
}
