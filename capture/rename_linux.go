package capture

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// moveNew is renameNew where the file system has it: unlike a second name, programs
// that wait for files to be moved into a folder see it.
func moveNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL): // not this file system
		return errors.ErrUnsupported
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}
