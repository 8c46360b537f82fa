// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
)

// Appender appends to a file that other programs, such as log rotation, may rename or remove at
// any time. It then goes on with a new file of that name. Its methods are for one goroutine, but
// Reopen for any.
type Appender struct {
	name   string
	file   *os.File
	reopen atomic.Bool
}

// OpenAppend opens a file to append to, and creates it if it does not exist. The name "-" is
// standard output. Opening a pipe waits for its reader until ctx is done, see [WithNoReader].
// Errors are *fs.PathError with the name as given.
func OpenAppend(ctx context.Context, name string) (*Appender, error) {
	a := &Appender{name: name}
	if name == "" {
		return nil, named("open", name, ErrEmptyName)
	}
	info, err := os.Stat(name)
	if IsStdout(name) || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		a.file, err = openDirect(ctx, name)
	} else {
		err = a.open()
	}
	return a, named("open", name, err)
}

func (a *Appender) open() error {
	file, err := os.OpenFile(a.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY|openAtOnce, 0o666)
	if err != nil {
		return err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() { // since it was looked at
		return errors.Join(cmp.Or(err, ErrNotRegular), file.Close())
	}
	if a.file != nil {
		_ = a.file.Close() // Write has reported errors
	}
	a.file = file
	return nil
}

// Reopen makes the next Write open the file of that name again. Any goroutine may call it.
func (a *Appender) Reopen() { a.reopen.Store(true) }

// Write appends p, to a regular file whole or not at all: the next line must not follow part of a
// line.
func (a *Appender) Write(p []byte) (int, error) {
	info, err := a.file.Stat()
	if err != nil {
		return 0, err
	}
	if info.Mode().IsRegular() && !IsStdout(a.name) && (a.reopen.Swap(false) || a.moved(info)) {
		if err := a.open(); err != nil {
			return 0, err
		}
		if info, err = a.file.Stat(); err != nil {
			return 0, err
		}
	}
	n, err := a.file.Write(p)
	if err != nil && n > 0 && info.Mode().IsRegular() && !IsStdout(a.name) {
		if now, failed := a.file.Stat(); failed == nil {
			_ = a.file.Truncate(now.Size() - int64(n)) // the error that counts is the other
		}
	}
	return n, named("write", a.name, err)
}

// moved reports whether the name no longer belongs to the open file.
func (a *Appender) moved(file fs.FileInfo) bool {
	now, err := os.Stat(a.name)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, file)
}

// Close closes the file; standard output stays open.
func (a *Appender) Close() error {
	if a.file == os.Stdout {
		return nil
	}
	return named("close", a.name, a.file.Close())
}
