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
