package cli

import (
	"os"
	"path/filepath"
)

// maxLinks is how many symbolic links in a row are followed, as Linux does.
const maxLinks = 40

// sameOutput tells whether two outputs would end up in one file, whatever
// their names are: by "..", by symbolic links, also those that lead to a file
// that is yet to be made, or because one of them is standard output under
// another name. Hard links are two files: each output replaces its own.
func sameOutput(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	if a == b || target(a) == target(b) {
		return true
	}
	x, errX := stat(a)
	y, errY := stat(b)
	if errX != nil || errY != nil || !os.SameFile(x, y) {
		return false
	}
	return !x.Mode().IsRegular() || isStdout(a) || isStdout(b)
}

// isStdout tells the names of standard output that capture.Create knows.
func isStdout(name string) bool {
	switch name {
	case "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		return true
	}
	return false
}

func stat(name string) (os.FileInfo, error) {
	if isStdout(name) {
		return os.Stdout.Stat()
	}
	return os.Stat(name)
}

// target returns the absolute path at the end of the symbolic links of name,
// as far as it exists.
func target(name string) string {
	if isStdout(name) {
		return "-"
	}
	for range maxLinks {
		dir, base := filepath.Split(name)
		if dir == "" {
			dir = "."
		}
		if folder, err := filepath.EvalSymlinks(dir); err == nil {
			name = filepath.Join(folder, base)
		}
		next, err := os.Readlink(name)
		if err != nil {
			break
		}
		if !filepath.IsAbs(next) {
			next = filepath.Dir(name) + string(filepath.Separator) + next
		}
		name = next
	}
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return filepath.Clean(name)
}

// namesInput tells whether an output would replace one of the inputs.
func namesInput(output string, inputs []string) bool {
	if output == "" {
		return false
	}
	info, err := os.Stat(output)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	for _, name := range inputs {
		if in, err := os.Stat(name); err == nil && os.SameFile(info, in) {
			return true
		}
	}
	return false
}
