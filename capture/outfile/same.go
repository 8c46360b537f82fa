package outfile

import (
	"io/fs"
	"os"
	"path/filepath"
)

// IsStdout reports whether Create takes a name for standard output: "-" and the
// paths that some systems have for it.
func IsStdout(name string) bool {
	switch name {
	case "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		return true
	}
	return false
}

// Same reports whether two names would end up in one file or stream: by "..", by
// symbolic links, also those that lead to a file that is yet to be made, by hard links,
// or because one of them is standard output under another name. Empty names are no
// files,
// and any number of outputs may go to the null device.
func Same(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	x, errX := stat(a)
	if errX == nil && !IsStdout(a) && isSharable(x) {
		return false
	}
	if a == b || finalPath(a) == finalPath(b) {
		return true
	}
	y, errY := stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// isSharable tells the null device and its like, which any number of outputs may name.
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

// finalPath returns the absolute path that an output ends up at, as far as it
// can be told: errors are for Create to report.
func finalPath(name string) string {
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
