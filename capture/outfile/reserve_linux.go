package outfile

import (
	"os"

	"golang.org/x/sys/unix"
)

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
