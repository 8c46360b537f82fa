// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// replacing is the destination of Create: it takes the place of an older file.
type replacing struct {
	tempFile             // in dir, or in elsewhere() if dir may not be written
	dir      *folder     // of the name
	had      fs.FileInfo // of the older file, nil for none
	lock     *Lock       // nil if the caller has it
}

// createElsewhere opens the file in the folder that elsewhere names.
func (d *replacing) createElsewhere(mode fs.FileMode) (*os.File, error) {
	elsewhere, err := openFolder(elsewhere())
	if err != nil {
		return nil, err
	}
	d.tempFile.dir = elsewhere
	return d.create(mode)
}

func (d *replacing) commit(f *File) error {
	if err := d.unchanged(f.opt.Input); err != nil {
		return err
	}
	if now, err := d.dir.stat(d.base); err == nil && !now.Mode().IsRegular() {
		return ErrNotRegular // somebody's since the output was opened
	}
	err := d.replace(f)
	if err != nil {
		return d.overwrite(f, err)
	}
	d.temp = ""
	if !f.opt.NoSync {
		err = d.dir.sync()
	}
	return errors.Join(err, d.dir.checkInPlace(d.base, f.out))
}

// replace puts the file in the place of the older file. If there was none, a file that has got
// the name since is somebody else's, and stays.
func (d *replacing) replace(f *File) error {
	if d.tempFile.dir != d.dir {
		return fs.ErrPermission
	}
	if err := d.ensureName(f); err != nil {
		return err
	}
	if d.had == nil {
		return d.dir.renameNew(d.temp, d.base)
	}
	return d.dir.rename(d.temp, d.base)
}

// unchanged returns ErrChanged if the file to be replaced is no longer the input as it was.
func (d *replacing) unchanged(input fs.FileInfo) error {
	if input == nil {
		return nil
	}
	now, err := d.dir.stat(d.base)
	if err != nil {
		return err
	}
	if !os.SameFile(now, input) || now.Size() != input.Size() || !now.ModTime().Equal(input.ModTime()) {
		return ErrChanged
	}
	return nil
}

// overwrite copies the file into the older file, which could not be replaced for this reason.
func (d *replacing) overwrite(f *File, reason error) error {
	if d.had == nil {
		return reason
	}
	into, err := d.dir.open(d.base, os.O_WRONLY, 0)
	if err != nil {
		return errors.Join(reason, err)
	}
	if err = copyInto(into, f.out, f.written); err == nil && !f.opt.NoSync {
		err = into.Sync()
	}
	if err = errors.Join(err, into.Close()); err != nil {
		return err
	}
	_ = d.discard() // the next run does it
	return nil
}

// copyInto replaces the content of dst by the first n bytes of src. It reserves the room
// first, so a full disk leaves dst unchanged.
func copyInto(dst, src *os.File, n int64) error {
	if err := reserve(dst, n); err != nil {
		return err
	}
	if _, err := io.Copy(dst, io.NewSectionReader(src, 0, n)); err != nil {
		return err
	}
	return dst.Truncate(n)
}

func (d *replacing) keep(f *File) (string, error) {
	next := partial(d.base)
	if !f.isPartial() && d.had == nil {
		next = firstOf(d.base, next)
	}
	name, err := d.publish(f, next)
	if err == nil {
		return d.tempFile.dir.join(name), nil
	}
	name, failed := f.copyElsewhere(d.base, next)
	if failed != nil {
		return "", errors.Join(err, failed)
	}
	_ = d.discard() // the next run does it
	return name, nil
}

func (d *replacing) close() error {
	var err error
	if d.lock != nil {
		err = d.lock.Unlock()
	}
	if d.tempFile.dir != d.dir {
		err = errors.Join(err, d.tempFile.dir.close())
	}
	return errors.Join(err, d.dir.close())
}

// visible is the destination of CreateVisible: a file that already has its name.
type visible struct {
	dir  *folder
	base string
}

func (d *visible) commit(f *File) error         { return d.dir.checkInPlace(d.base, f.out) }
func (d *visible) keep(f *File) (string, error) { return f.name, nil }
func (d *visible) discard() error               { return d.dir.remove(d.base) }
func (d *visible) close() error                 { return d.dir.close() }

// direct is a destination that is written directly: a device, a pipe, a socket, or
// standard output.
type direct struct{}

func (direct) commit(*File) error         { return nil }
func (direct) keep(*File) (string, error) { return "", nil }
func (direct) discard() error             { return nil }
func (direct) close() error               { return nil }

// noReaderKey is the key of a context's function for pipes without a reader.
type noReaderKey struct{}

// WithNoReader returns a context for opening outputs. Before the wait for the reader of a pipe, it
// calls noReader with the name of the pipe.
func WithNoReader(ctx context.Context, noReader func(name string)) context.Context {
	return context.WithValue(ctx, noReaderKey{}, noReader)
}

// openDirect opens an output that is not a regular file. A pipe opens when it has a reader,
// so this may wait until ctx is done. The call to open then lasts until the process ends.
func openDirect(ctx context.Context, name string) (*os.File, error) {
	if IsStdout(name) {
		// Opened by its path, it would start at offset 0 of a file that a shell
		// opened for appending.
		return os.Stdout, nil
	}
	noReader, _ := ctx.Value(noReaderKey{}).(func(string))
	if info, err := os.Stat(name); noReader != nil && err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		// It is not closed: a reader would take that for the end.
		file, err := os.OpenFile(name, os.O_WRONLY|openAtOnce, 0)
		if !errors.Is(err, syscall.ENXIO) {
			return file, err
		}
		noReader(name)
	}
	var file *os.File
	if err := Until(ctx, func() (err error) { file, err = os.OpenFile(name, os.O_WRONLY, 0); return err }); err != nil {
		return nil, err // nobody may use what open sets later
	}
	return file, nil
}

// checkInPlace returns ErrMoved if a name no longer belongs to the file. The error says where the
// file is if it moved with its folder.
func (d *folder) checkInPlace(base string, file *os.File) error {
	want, err := file.Stat()
	if err != nil {
		return err
	}
	has, err := os.Stat(d.join(base))
	if err == nil && os.SameFile(has, want) {
		return nil
	}
	where := d.currentPath()
	if has, err = os.Stat(filepath.Join(where, base)); where == "" || err != nil || !os.SameFile(has, want) {
		return ErrMoved
	}
	return fmt.Errorf("%w: the file is complete in %s", ErrMoved, where)
}

// join returns the path of a name in the folder, as the folder was named.
func (d *folder) join(name string) string {
	if d.path == "." {
		return name
	}
	if strings.HasSuffix(d.path, string(filepath.Separator)) {
		return d.path + name
	}
	return d.path + string(filepath.Separator) + name
}

// sync makes the names in a folder durable. It does nothing for folders that cannot be
// opened or synced (Windows, some network file systems).
func (d *folder) sync() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := d.list()
	if err != nil {
		return nil
	}
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, dir.Close())
}
