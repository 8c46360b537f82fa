// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ErrLocked says that a different run writes to the same name.
var ErrLocked = errors.New("another run writes to it")

const (
	lockEnding = ".flowdedup-lock"
	maxLock    = 16 << 10 // bytes of a lock's text that are read
)

// Lock keeps other runs from writing to a name. The end of the process releases it.
type Lock struct {
	dir     *folder
	ownsDir bool     // dir is closed with the lock
	file    *os.File // nil where no lock can be made
	name    string   // of the lock's own file; "" where the target itself is locked
}

// LockName locks a name for a run, for files that are written again and again. If a different
// process has the lock, the error wraps ErrLocked and names that process.
func LockName(name string) (*Lock, error) {
	final, err := followLinks(name)
	if err != nil {
		return nil, named("lock", name, err)
	}
	dir, err := openFolder(folderOf(final))
	if err != nil {
		return nil, named("lock", name, err)
	}
	sweep(dir)
	l, err := lockName(dir, filepath.Base(final))
	if err != nil {
		return nil, named("lock", name, errors.Join(err, dir.close()))
	}
	l.dir, l.ownsDir = dir, true
	return l, nil
}

// lockTries is how often a lock that is held is tried again: a process that sweeps the folder holds
// each lock for a moment. lockPause is the time between.
const (
	lockTries = 5
	lockPause = 4 * time.Millisecond
)

// lockName locks a name of a folder, which must stay open. If it cannot create a lock (a
// read-only folder, a file system without locks), it locks the file of that name, if it exists. Locks
// of users whom the folder does not trust do not count: in a shared folder anyone could keep all
// runs from a name.
func lockName(dir *folder, base string) (*Lock, error) {
	l := &Lock{dir: dir, name: "." + base[:min(len(base), maxTempBase)] + lockEnding}
	held := 0
	for range attempts {
		file, err := openLock(dir, l.name)
		switch {
		case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, errForeign):
			return &Lock{dir: dir}, nil
		case err != nil:
			return lockTarget(dir, base)
		}
		switch err := lockFile(file); {
		case errors.Is(err, ErrLocked):
			if held++; held < lockTries {
				_ = file.Close()
				time.Sleep(lockPause)
				continue
			}
			return nil, errors.Join(lockedBy(file), file.Close())
		case err != nil: // not on this file system
			return &Lock{dir: dir}, errors.Join(dir.remove(l.name), file.Close())
		}
		// The run before may have removed it between the two steps. A hard link is not written to:
		// its file may be anybody's.
		ours, err := dir.refersTo(l.name, file)
		if info, failed := file.Stat(); ours && failed == nil && linked(info) {
			ours, err = false, dir.remove(l.name)
		}
		if !ours {
			_ = file.Close()
			if err != nil {
				return nil, err
			}
			continue
		}
		l.file = file
		l.write("")
		return l, nil
	}
	return nil, ErrLocked
}

// write writes the number of the process, for users, and the pattern of a series.
func (l *Lock) write(pattern string) {
	_ = l.file.Truncate(0) // the lock holds without its text
	_, _ = l.file.WriteAt(fmt.Appendf(nil, "%d\n%s", os.Getpid(), pattern), 0)
}

// openLock opens the file of a lock, and creates it if there is none.
func openLock(dir *folder, name string) (*os.File, error) {
	file, err := dir.openOwn(name, os.O_RDWR)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return dir.open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	case errors.Is(err, fs.ErrPermission):
		return dir.openOwn(name, os.O_RDONLY)
	}
	return file, err
}

// lockPattern locks a name whose files fit a pattern. It fails if a run has locked an overlapping
// pattern.
func lockPattern(dir *folder, base string, pattern *regexp.Regexp) (*Lock, error) {
	l, err := lockName(dir, base)
	if err != nil || l.file == nil || l.name == "" {
		return l, err
	}
	l.write(pattern.String()) // before it looks at others, so that of two runs the later sees the other
	eachHidden(dir, func(name string) {
		if err == nil && strings.HasSuffix(name, lockEnding) && name != l.name {
			err = overlapping(dir, name, pattern)
		}
	})
	if err != nil {
		l.dir = dir
		return nil, errors.Join(err, l.Unlock())
	}
	return l, nil
}

// overlapping returns an error if the lock of a name is held for a pattern that overlaps pattern.
func overlapping(dir *folder, name string, pattern *regexp.Regexp) error {
	file, err := dir.openOwn(name, os.O_RDONLY)
	if err != nil {
		return nil // it was released, or is none
	}
	defer file.Close()
	if !errors.Is(lockFile(file), ErrLocked) {
		return nil
	}
	text, _ := io.ReadAll(io.NewSectionReader(file, 0, maxLock))
	_, other, _ := strings.Cut(string(text), "\n")
	if other, err := regexp.Compile(other); err != nil || other.String() == "" || !Overlap(pattern, other) {
		return nil
	}
	return lockedBy(file)
}

// lockTarget locks the file itself.
func lockTarget(dir *folder, base string) (*Lock, error) {
	file, err := dir.open(base, os.O_RDONLY, 0)
	if err != nil {
		return &Lock{dir: dir}, nil
	}
	if err := lockFile(file); errors.Is(err, ErrLocked) {
		return nil, errors.Join(err, file.Close())
	}
	return &Lock{dir: dir, file: file}, nil
}

// lockedBy returns ErrLocked with the process that wrote its number into a lock.
func lockedBy(file *os.File) error {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 32))
	first, _, _ := strings.Cut(string(text), "\n")
	pid, bad := strconv.Atoi(first)
	if err != nil || bad != nil {
		return ErrLocked
	}
	return fmt.Errorf("%w: process %d", ErrLocked, pid)
}

// Unlock releases the lock, and removes its file.
func (l *Lock) Unlock() error {
	var err error
	if l.file != nil {
		if l.name != "" {
			_ = l.dir.remove(l.name) // the next run does it
		}
		err = l.file.Close()
	}
	if l.ownsDir {
		err = errors.Join(err, l.dir.close())
	}
	return err
}
