//go:build unix

package hub

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Lock keeps other hubs from using the folder, until the process ends or the file is closed.
func (f *Folder) Lock() (*os.File, error) {
	file, err := os.OpenFile(f.at("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s is in use by another flowdedup-hub", ErrFolder, f.path), file.Close())
	}
	return file, nil
}
