package capture

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links in a row are followed to a name that does
// not exist; Linux stops at 40 as well.
const maxLinks = 40

// maxTempBase is how much of the final name a temporary one repeats, so that
// both stay below the 255 bytes that file systems allow.
const maxTempBase = 200

var errEmptyName = errors.New("empty name")

// open decides what the name means and opens the file that is written.
func (o *Output) open() error {
	switch {
	case o.name == "":
		return errEmptyName
	case IsStdout(o.name):
		// Opened by its path, it would start at offset 0 of a file that a shell
		// opened for appending.
		o.file = os.Stdout
		widen(o.file)
		return nil
	}
	info, err := os.Stat(o.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		o.final, err = followLinks(o.name)
		if err != nil {
			return err
		}
		return o.openTemp(0o666, false)
	case err != nil:
		return err
	case info.IsDir():
		return syscall.EISDIR
	case !info.Mode().IsRegular():
		if o.file, err = os.OpenFile(o.name, os.O_WRONLY, 0); err == nil {
			widen(o.file)
		}
		return err
	}
	if err := checkWritable(o.name); err != nil {
		return err
	}
	o.final, err = followLinks(o.name)
	if err != nil {
		return err
	}
	return o.openTemp(info.Mode().Perm(), true)
}

// checkWritable refuses what the user protected: a rename would ask for nothing
// but the right to write to the folder.
func checkWritable(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// followLinks returns the path at the end of the symbolic links that name may
// begin, whether or not something exists there.
func followLinks(name string) (string, error) {
	for range maxLinks {
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return name, nil
		}
		next, err := os.Readlink(name)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(next) {
			// The folder is resolved first: ".." in a link counts from where
			// the link really lies. Those that are left are for the system.
			dir, err := filepath.EvalSymlinks(folderOf(name))
			if err != nil {
				return "", err
			}
			next = dir + string(filepath.Separator) + next
		}
		name = next
	}
	return "", fmt.Errorf("more than %d symbolic links", maxLinks)
}

// folderOf returns what comes before the last part of a path. Unlike filepath.Dir
// it leaves ".." in there, which leads elsewhere behind a symbolic link.
func folderOf(name string) string {
	dir, _ := filepath.Split(name)
	return cmp.Or(dir, ".")
}

// openTemp creates the temporary file next to o.final. It is never readable by
// more people than the final file: the mode is given at creation, where the
// umask applies, and set once more where an old file's mode must be kept.
func (o *Output) openTemp(mode fs.FileMode, keepMode bool) error {
	if o.private {
		mode, keepMode = 0o600, true
	}
	dir, base := filepath.Split(o.final)
	base = strings.ToValidUTF8(base[:min(len(base), maxTempBase)], "")
	var err error
	for range 100 {
		o.temp = fmt.Sprintf("%s.%s.%08x.tmp", dir, base, rand.Uint32())
		o.file, err = os.OpenFile(o.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil || !keepMode {
		return err
	}
	if err := o.file.Chmod(mode); err != nil {
		return errors.Join(err, o.close(), os.Remove(o.temp))
	}
	return nil
}

// syncFolder makes the name of a renamed file last through a crash. Folders
// that cannot be opened or synced (Windows, some network file systems) are
// left to the system.
func syncFolder(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(folderOf(name))
	if err != nil {
		return nil
	}
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, dir.Close())
}
