package outfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ErrStdoutClosed says that the process was started without standard output.
var ErrStdoutClosed = errors.New("standard output is closed")

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
