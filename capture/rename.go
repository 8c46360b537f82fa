package capture

import (
	"errors"
	"io/fs"
	"os"
)

// renameNew is os.Rename that replaces nothing: it returns fs.ErrExist then.
func renameNew(from, to string) error {
	if err := moveNew(from, to); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return linkNew(from, to)
}

// linkNew is renameNew by way of a second name, which replaces nothing anywhere. Where
// a file can have only one name the system is asked before, and a program that takes
// the name in between loses its file.
func linkNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		return os.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return os.Rename(from, to)
}
