// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"cmp"
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
	// maxTempBase is how many bytes of the final name a hidden name repeats, so that both
	// stay below the 255 bytes that file systems allow.
	maxTempBase = 200
	// attempts is how many random names are tried.
	attempts = 100
)

// useAnonymous is switched off by tests of hidden names.
var useAnonymous = true

// tempFile is a file being written in a folder. It has no name, or a hidden name and a lock.
type tempFile struct {
	dir    *folder
	base   string  // that hidden names are made of
	temp   string  // "" while there is none
	series *Series // that records the file under each name that it may get; nil for none
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
		s.series.record(name, f.out)
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

// elsewhere returns the folder for an output whose own folder takes no new file: under systemd the
// first folder of StateDirectory=, as a service's PrivateTmp= is removed when the service ends.
func elsewhere() string {
	first, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":")
	return cmp.Or(first, os.TempDir())
}

// copyElsewhere copies the output to a file in that folder, and returns its path.
func (f *File) copyElsewhere(base string, next func() string) (string, error) {
	dir, err := openFolder(elsewhere())
	if err != nil {
		return "", err
	}
	defer dir.close()
	info, err := f.out.Stat()
	if err != nil {
		return "", err
	}
	to := &tempFile{dir: dir, base: base}
	copied := &File{written: f.written}
	if copied.out, err = to.create(info.Mode()); err != nil {
		return "", err
	}
	name := ""
	if _, err = io.Copy(copied.out, io.NewSectionReader(f.out, 0, f.written)); err == nil {
		name, err = to.publish(copied, next)
	}
	if err = errors.Join(err, copied.out.Close()); err != nil {
		return "", errors.Join(err, to.discard())
	}
	return dir.join(name), nil
}

// discard takes the hidden name away.
func (s *tempFile) discard() error {
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
	eachHidden(dir, func(name string) {
		if strings.HasSuffix(name, tempEnding) || strings.HasSuffix(name, lockEnding) {
			removeStale(dir, name)
		}
	})
}

// eachHidden calls do for each hidden name in a folder; for those before an error, too.
func eachHidden(dir *folder, do func(name string)) {
	list, err := dir.list()
	if err != nil {
		return
	}
	defer list.Close()
	names, _ := list.Readdirnames(-1)
	for _, name := range names {
		if strings.HasPrefix(name, ".") {
			do(name)
		}
	}
}

func removeStale(dir *folder, name string) {
	file, err := dir.openOwn(name, os.O_RDONLY)
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
