package capture

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

// SameOutput reports whether two outputs of Create would end up in one file or
// stream, whatever their names are: by "..", by symbolic links, also those that
// lead to a file that is yet to be made, or because one of them is standard
// output under another name. Hard links are two files: each output replaces its
// own. Empty names are no outputs.
func SameOutput(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	if a == b || finalPath(a) == finalPath(b) {
		return true
	}
	x, errX := statOutput(a)
	y, errY := statOutput(b)
	if errX != nil || errY != nil || !os.SameFile(x, y) {
		return false
	}
	return !x.Mode().IsRegular() || IsStdout(a) || IsStdout(b)
}

func statOutput(name string) (fs.FileInfo, error) {
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
