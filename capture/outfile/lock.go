// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrLocked says that another run writes to the same name.
var ErrLocked = errors.New("another run writes to it")

const lockEnding = ".flowdedup-lock"

// Lock keeps other runs from writing to a name. The end of the process releases it.
type Lock struct {
	dir     *folder
	ownsDir bool     // dir is closed with the lock
	file    *os.File // nil where no lock can be made
	name    string   // of the lock's own file; "" where the target itself is locked
}

// LockName locks a name for a run, for files that are written again and again. If another
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

// lockName locks a name of a folder, which must stay open. If it cannot create a lock (a
// read-only folder, a file system without locks), it locks the file of that name, if there
// is one.
func lockName(dir *folder, base string) (*Lock, error) {
	l := &Lock{dir: dir, name: "." + base[:min(len(base), maxTempBase)] + lockEnding}
	for range attempts {
		file, err := openLock(dir, l.name)
		if err != nil {
			return lockTarget(dir, base)
		}
		switch err := lockFile(file); {
		case errors.Is(err, ErrLocked):
			return nil, errors.Join(lockedBy(file), file.Close())
		case err != nil: // not on this file system
			return &Lock{dir: dir}, errors.Join(dir.remove(l.name), file.Close())
		}
		// The run before may have removed it between the two steps.
		if ours, err := dir.refersTo(l.name, file); !ours {
			_ = file.Close()
			if err != nil {
				return nil, err
			}
			continue
		}
		l.file = file
		// The number is for users; the lock does not need it.
		_ = file.Truncate(0)
		_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
		return l, nil
	}
	return nil, ErrLocked
}

// openLock opens the file of a lock, which may belong to another user.
func openLock(dir *folder, name string) (*os.File, error) {
	file, err := dir.open(name, os.O_RDWR|os.O_CREATE, 0o666)
	if errors.Is(err, fs.ErrPermission) {
		return dir.open(name, os.O_RDONLY, 0)
	}
	return file, err
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
	pid, bad := strconv.Atoi(strings.TrimSpace(string(text)))
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
