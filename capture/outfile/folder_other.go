// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package outfile

import (
	"errors"
	"io/fs"
	"os"
)

// folder is an open folder. Operations in it still work after it was moved.
type folder struct {
	root *os.Root
	path string
}

func openFolder(path string) (*folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &folder{root: root, path: path}, nil
}

func (d *folder) close() error { return d.root.Close() }

// open opens a file of the folder. It never waits, whatever has the name.
func (d *folder) open(name string, flags int, mode fs.FileMode) (*os.File, error) {
	return d.root.OpenFile(name, flags|openAtOnce, mode)
}

// anonymous is for systems that have files without a name.
func (d *folder) anonymous(fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

func (d *folder) linkAnonymous(*os.File, string) error { return errors.ErrUnsupported }

// rename replaces the file of the second name.
func (d *folder) rename(from, to string) error { return d.root.Rename(from, to) }

// renameNew replaces nothing: it returns fs.ErrExist then.
func (d *folder) renameNew(from, to string) error {
	err := d.root.Link(from, to)
	if err == nil {
		return d.root.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	// Some file systems have one name for a file. A program that takes the name in
	// between loses its file.
	if _, err := d.root.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return d.root.Rename(from, to)
}

func (d *folder) remove(name string) error { return d.root.Remove(name) }

func (d *folder) stat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }

// list opens the folder for reading.
func (d *folder) list() (*os.File, error) { return d.root.Open(".") }

// currentPath is for systems that report the path of an open folder.
func (d *folder) currentPath() string { return "" }

// WidenPipe does nothing where pipes are as wide as they are.
func WidenPipe(*os.File) {}

// reserve is for systems that take room for a file ahead.
func reserve(*os.File, int64) error { return nil }

// MayBeClosed is for systems that report a closed standard output on a write.
func MayBeClosed() bool { return false }

// startWriteBack does nothing where only a sync does it.
func startWriteBack(*os.File, int64, int64) {}

// onLocalSystem is for systems that report the file system of a path.
func onLocalSystem(string) bool { return false }
