// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// SplitName splits a name before its ending, which includes the ending of a compression:
// cap.pcapng.zst into cap and .pcapng.zst.
func SplitName(name string) (stem, ending string) {
	base := filepath.Base(name)
	ending = filepath.Ext(base)
	if Compresses(ending) {
		ending = filepath.Ext(base[:len(base)-len(ending)]) + ending
	}
	if ending == base { // it only begins with a dot
		ending = ""
	}
	return name[:len(name)-len(ending)], ending
}

// numbered returns a function that gives names in turn: stem.ending,
// stem_002.ending, stem_003.ending and so on.
func numbered(stem, ending string) func() string {
	number := 0
	return func() string {
		number++
		if number == 1 {
			return stem + ending
		}
		return fmt.Sprintf("%s_%03d%s", stem, number, ending)
	}
}

// Partial is in the names of files that are not complete, before their endings.
const Partial = ".partial"

// partial returns the names that a file which is not complete gets instead of base.
func partial(base string) func() string {
	stem, ending := SplitName(base)
	return numbered(stem+Partial, ending)
}

// firstOf returns name, and then the results of next.
func firstOf(name string, next func() string) func() string {
	given := false
	return func() string {
		if given {
			return next()
		}
		given = true
		return name
	}
}

// IsStdout reports whether Create takes a name for standard output: "-" and the
// paths that some systems have for it.
func IsStdout(name string) bool {
	switch name {
	case "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		return true
	}
	return false
}

// Same reports whether two names mean the same file or stream: by "..", by symbolic links (also
// to a file that does not exist yet), by hard links, or as names of standard output. Empty names
// are not files, and any number of outputs may go to the null device.
func Same(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	x, errX := stat(a)
	if errX == nil && !IsStdout(a) && isSharable(x) {
		return false
	}
	if a == b || FinalPath(a) == FinalPath(b) {
		return true
	}
	y, errY := stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// isSharable reports whether any number of outputs may name a file: the null device.
func isSharable(info fs.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}

func stat(name string) (fs.FileInfo, error) {
	if IsStdout(name) {
		return os.Stdout.Stat()
	}
	return os.Stat(name)
}

// FinalPath returns the absolute path of a file behind symbolic links, as far as it can be
// resolved. Create reports errors.
func FinalPath(name string) string {
	if IsStdout(name) {
		return "-"
	}
	if final, err := followLinks(name); err == nil {
		name = final
	}
	if folder, err := filepath.EvalSymlinks(folderOf(name)); err == nil {
		name = filepath.Join(folder, filepath.Base(name))
	}
	if path, err := filepath.Abs(name); err == nil {
		return path
	}
	return filepath.Clean(name)
}

// MayStall reports whether writing to an output of this name may wait for more than a disk of this
// machine: for the reader of a pipe, a device, a host of the network. If the system does not say, it
// may.
func MayStall(name string) bool {
	info, err := os.Stat(name)
	switch {
	case IsStdout(name), err == nil && !info.Mode().IsRegular():
		return true
	case err == nil:
		return !onLocalSystem(name)
	}
	return !onLocalSystem(folderOf(name))
}

// SetAside renames a file to NAME.mismatch_001 or a later number, and returns that name. No file is
// replaced. It is for a file that its owner may want back, where a run writes a new file of the
// same name.
func SetAside(name string) (string, error) {
	for number := 1; ; number++ {
		aside := fmt.Sprintf("%s.mismatch_%03d", name, number)
		switch err := os.Link(name, aside); {
		case errors.Is(err, os.ErrExist):
			continue
		case errors.Is(err, errors.ErrUnsupported), errors.Is(err, os.ErrPermission): // no hard links here
			return aside, os.Rename(name, aside)
		case err != nil:
			return "", err
		}
		return aside, os.Remove(name)
	}
}
