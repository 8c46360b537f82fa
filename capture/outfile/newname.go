// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// newName is the destination of CreateNew. It gets its name when it is complete.
type newName struct {
	tempFile
	next  func() string
	whole bool // only a name is missing
	// named says that it has its name, and refused is the name that the folder did not take.
	named   bool
	refused string
	// homeless says that the folder took no name. away is where a copy is, "" for nowhere.
	homeless bool
	away     string
	awayInfo fs.FileInfo
}

func (d *newName) commit(f *File) error {
	d.whole = true
	name, err := d.publish(f, inFolder(d.next))
	if err != nil {
		d.refused = name
		return err
	}
	f.name, d.named = d.dir.join(name), true
	if !f.opt.NoSync {
		err = d.dir.sync()
	}
	return errors.Join(err, d.dir.checkInPlace(name, f.out))
}

// names returns the names that the output may get.
func (d *newName) names(f *File, next func() string) func() string {
	next = inFolder(next)
	if !d.whole && f.isPartial() {
		next = partial(next())
	}
	return next
}

func (d *newName) keep(f *File) (string, error) {
	if d.named {
		return f.name, nil
	}
	next := d.names(f, d.next)
	if d.refused != "" {
		next = firstOf(d.refused, next)
	}
	name, err := d.publish(f, next)
	if err == nil {
		f.name = d.dir.join(name)
		return f.name, nil
	}
	d.homeless = true
	away, failed := f.copyElsewhere(d.base, next)
	if failed != nil {
		return "", errors.Join(err, failed)
	}
	if d.awayInfo, failed = os.Lstat(away); failed == nil {
		d.away = away
	}
	return away, nil
}

func (d *newName) close() error { return d.dir.close() }

// homeless returns the destination of an output that got no name in its folder, else nil.
func (f *File) homeless() *newName {
	if d, ok := f.dest.(*newName); ok && d.homeless && f.out != nil {
		return d
	}
	return nil
}

// Homeless reports whether Commit or Keep could not give the output a name in its folder. If
// Options.Series is set, the output then stays open for [File.Home] and [File.Forsake]. away is
// where a copy of it is, "" for nowhere.
func (f *File) Homeless() (away string, ok bool) {
	d := f.homeless()
	if d == nil {
		return "", false
	}
	return d.away, true
}

// Home gives a homeless output the first name from next that no file has, and removes the copy
// elsewhere. After an error the output is still homeless.
func (f *File) Home(next func() string) error {
	d := f.homeless()
	if d == nil {
		return nil
	}
	name, err := d.publish(f, d.names(f, next))
	if err != nil {
		return f.named("write", err)
	}
	f.name, f.lost, d.homeless = d.dir.join(name), false, false
	if now, failed := os.Lstat(d.away); d.away != "" && failed == nil && os.SameFile(now, d.awayInfo) {
		_ = os.Remove(d.away) // what stays is a second copy
	}
	if !f.opt.NoSync {
		err = d.dir.sync()
	}
	return f.named("write", errors.Join(err, f.close(), d.close()))
}

// Forsake closes a homeless output. Its copy elsewhere stays. Without a copy, its hidden file in the
// folder stays.
func (f *File) Forsake() error {
	d := f.homeless()
	if d == nil {
		return nil
	}
	if d.away != "" {
		_ = d.discard() // the next run does it
	}
	return f.named("close", errors.Join(f.close(), d.close()))
}

// inFolder returns the last parts of names.
func inFolder(next func() string) func() string {
	return func() string { return filepath.Base(next()) }
}
