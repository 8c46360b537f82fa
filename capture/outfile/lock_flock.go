//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package outfile

import (
	"os"

	"golang.org/x/sys/unix"
)

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
