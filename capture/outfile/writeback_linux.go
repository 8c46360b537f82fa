package outfile

import (
	"os"

	"golang.org/x/sys/unix"
)

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
