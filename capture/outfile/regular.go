// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

var (
	// ErrNotRegular says that a name belongs to a pipe, a device or a socket, where only a regular
	// file will do.
	ErrNotRegular = errors.New("no regular file")
	// ErrNotState says that a file is not a state that a run has saved, so no run replaces it.
	ErrNotState = errors.New("cannot be resumed: it is not a state file, so it stays")
	// errForeign says that a file is not a regular file of a user whom the folder trusts.
	errForeign = errors.New("no regular file of this user")
)

// OpenRegular opens a regular file for reading. It opens nothing else: that might wait for a
// writer, or set a device to work. For pipes, devices and sockets the error wraps ErrNotRegular.
func OpenRegular(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := notRegular(info); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	file, err := os.OpenFile(name, os.O_RDONLY|openAtOnce, 0)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err == nil { // the name may have a new file meanwhile
		err = notRegular(info)
	}
	if err != nil {
		return nil, errors.Join(named("open", name, err), file.Close())
	}
	return file, nil
}

func notRegular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return syscall.EISDIR
	case !info.Mode().IsRegular():
		return ErrNotRegular
	}
	return nil
}

// Until returns what open returns, or the error of ctx when that is done first: open may wait long
// for the writer of a pipe. It then lasts until the process ends, and nobody may use what it sets.
func Until(ctx context.Context, open func() error) error {
	ready := make(chan error, 1)
	go func() { ready <- open() }()
	select {
	case err := <-ready:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// OpenState opens a state file for reading: a regular file that begins with magic. For any other
// file the error wraps ErrNotState, and for a name that no file has fs.ErrNotExist.
func OpenState(name, magic string) (*os.File, error) {
	file, err := OpenRegular(name)
	for _, kind := range []error{ErrNotRegular, syscall.EISDIR} {
		if errors.Is(err, kind) {
			return nil, fmt.Errorf("%s: %w: %w", name, ErrNotState, kind)
		}
	}
	if err != nil {
		return nil, err
	}
	head := make([]byte, len(magic))
	_, err = file.ReadAt(head, 0)
	if errors.Is(err, io.EOF) || err == nil && string(head) != magic {
		err = fmt.Errorf("%s: %w", name, ErrNotState)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// CheckState returns the error of OpenState, but nil for a name that no file has.
func CheckState(name, magic string) error {
	file, err := OpenState(name, magic)
	switch {
	case err == nil:
		return file.Close()
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// CreateState opens an output that only its owner may read, and that replaces a state file of the
// same magic or no file at all: see [OpenState]. The caller holds the Lock of the name.
func CreateState(ctx context.Context, name, magic string) (*File, error) {
	if err := CheckState(name, magic); err != nil {
		return nil, err
	}
	return Create(ctx, name, Options{Private: true, Plain: true, Locked: true, Regular: true})
}

// openOwn opens a regular file of a user whom the folder trusts. For any other file the error is
// errForeign.
func (d *folder) openOwn(name string, flags int) (*os.File, error) {
	info, err := d.stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !d.trusts(info) {
		return nil, errForeign
	}
	file, err := d.open(name, flags, 0)
	if err != nil {
		return nil, err
	}
	if now, err := file.Stat(); err != nil || !os.SameFile(now, info) { // it was replaced meanwhile
		return nil, errors.Join(errForeign, file.Close())
	}
	return file, nil
}
