// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
)

const (
	tempEnding = ".flowdedup-tmp"
	// maxTempBase is how much of the final name a hidden one repeats, so that both
	// stay below the 255 bytes that file systems allow.
	maxTempBase = 200
	// attempts is how many random names are tried.
	attempts = 100
)

// useAnonymous is switched off by tests of hidden names.
var useAnonymous = true

// tempFile is a file being written in a folder. It has no name, or a hidden one and a lock.
type tempFile struct {
	dir  *folder
	base string // that hidden names are made of
	temp string // "" while there is none
}

// create opens the file. Its mode is set from the start.
func (s *tempFile) create(mode fs.FileMode) (*os.File, error) {
	if useAnonymous {
		file, err := s.dir.anonymous(mode)
		if err == nil {
			_ = lockFile(file) // before it has a name, so that it never looks left over
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			return file, err
		}
	}
	for range attempts {
		name := s.hiddenName()
		file, err := s.dir.open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if lockFile(file) != nil {
			s.temp = name // no locks here
			return file, nil
		}
		// Before it was locked it looked like something left over.
		ours, err := s.dir.refersTo(name, file)
		if ours {
			s.temp = name
			return file, nil
		}
		_ = file.Close()
		if err != nil {
			return nil, err
		}
	}
	return nil, fs.ErrExist
}

// hiddenName returns a hidden name.
func (s *tempFile) hiddenName() string {
	base := strings.ToValidUTF8(s.base[:min(len(s.base), maxTempBase)], "")
	return fmt.Sprintf(".%s.%08x%s", base, rand.Uint32(), tempEnding)
}

// refersTo reports whether a name in the folder belongs to file.
func (d *folder) refersTo(name string, file *os.File) (bool, error) {
	has, err := d.stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	want, err := file.Stat()
	return err == nil && os.SameFile(has, want), err
}

// ensureName makes sure that the file has a hidden name. If its name was removed, it copies
// the file.
func (s *tempFile) ensureName(f *File) error {
	if s.temp == "" {
		name := s.hiddenName()
		if err := s.dir.linkAnonymous(f.out, name); err != nil {
			return err
		}
		s.temp = name
		return nil
	}
	if ours, err := s.dir.refersTo(s.temp, f.out); ours || err != nil {
		return err
	}
	if err := s.rewrite(f); err != nil || s.temp != "" {
		return err
	}
	return s.ensureName(f)
}

// rewrite copies the output to a new file.
func (s *tempFile) rewrite(f *File) error {
	was := f.out
	info, err := was.Stat()
	if err != nil {
		return err
	}
	s.temp = ""
	into, err := s.create(info.Mode())
	if err != nil {
		return err
	}
	f.out = into
	_, err = io.Copy(into, io.NewSectionReader(was, 0, f.written))
	return errors.Join(err, was.Close())
}

// publish gives the file the first name from next that no file has, and returns the name.
func (s *tempFile) publish(f *File, next func() string) (string, error) {
	if err := s.ensureName(f); err != nil {
		return "", err
	}
	for {
		name := next()
		err := s.dir.renameNew(s.temp, name)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			s.temp = ""
		}
		return name, err
	}
}

// publishAnywhere is publish, but returns a path. If the folder accepts no new names, the
// file goes to the folder for temporary files.
func (s *tempFile) publishAnywhere(f *File, next func() string) (string, error) {
	name, err := s.publish(f, next)
	if err == nil {
		return s.dir.join(name), nil
	}
	dir, failed := openFolder(os.TempDir())
	if failed != nil {
		return "", err
	}
	defer dir.close()
	other := &tempFile{dir: dir, base: s.base}
	if failed := other.rewrite(f); failed != nil {
		return "", errors.Join(err, failed)
	}
	name, err = other.publish(f, next)
	return dir.join(name), err
}

// remove takes the hidden name away.
func (s *tempFile) remove() error {
	if s.temp == "" {
		return nil
	}
	name := s.temp
	s.temp = ""
	return s.dir.remove(name)
}

// Sweep removes stale files of killed runs from the folder of a name. Create, CreateVisible
// and LockName call it.
func Sweep(name string) {
	dir, err := openFolder(folderOf(name))
	if err != nil {
		return
	}
	defer dir.close()
	sweep(dir)
}

// sweep removes stale files of killed runs from a folder: hidden files of ours without a
// lock. Files that it cannot list or lock stay.
func sweep(dir *folder) {
	list, err := dir.list()
	if err != nil {
		return
	}
	defer list.Close()
	names, _ := list.Readdirnames(-1) // those before an error count
	for _, name := range names {
		if strings.HasPrefix(name, ".") && (strings.HasSuffix(name, tempEnding) || strings.HasSuffix(name, lockEnding)) {
			removeStale(dir, name)
		}
	}
}

func removeStale(dir *folder, name string) {
	file, err := dir.open(name, os.O_RDONLY, 0)
	if err != nil {
		return
	}
	defer file.Close()
	if lockFile(file) != nil {
		return
	}
	if ours, _ := dir.refersTo(name, file); ours {
		_ = dir.remove(name) // the next run tries again
	}
}
