// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Series knows the files that an output with many files has made in its folder, in this run and in
// all before. No other run can have a Series of a pattern that a name could fit as well.
//
// The record of these files lies next to them, .NAME.flowdedup-files. A line has the number of the
// inode, the size, the time of the last write and the name of a file. All four must be as they were
// when the file got its name: then no file that somebody has copied, moved, changed or put in its
// place passes for a file of the series. A line is written before the file has the name. So a crash
// leaves a line without a file, which matches nothing, and no file without a line.
//
// Unlike extended attributes and comments in the files, a record works on all file systems and for
// all formats. It has no device, whose number changes when a disk is mounted again, because names
// lead nowhere but into the folder. Without the record, or where inodes get other numbers at each
// mount (FAT), files of runs before count as somebody else's, and stay.
//
// A Series is for one goroutine.
type Series struct {
	dir     *folder
	base    string // of the record
	lock    *Lock
	pattern *regexp.Regexp
	made    map[entry]bool
	file    *os.File // of the record; nil before the first line
	added   int      // lines since the record was written anew
	err     error    // why the record is not complete
	// unwritten are lines that could not be written to the record yet.
	unwritten []byte
	// NoSync leaves out the wait for the disk after each line.
	NoSync bool
}

// entry is a line of a record.
type entry struct {
	name     string
	number   uint64
	size     int64
	modified int64 // nanoseconds since 1970
}

const (
	recordEnding = ".flowdedup-files"
	// maxRecord is how many bytes of a record are read: lines of a million files.
	maxRecord = 64 << 20
	// freshLines is how many lines at least are added before files that are gone leave the record.
	freshLines = 4096
	// maxUnwritten bounds the lines that wait for a record that cannot be written.
	maxUnwritten = 1 << 20
)

// OpenSeries locks the pattern that names of a series have in the folder of name, and reads the
// record. If a run has the lock of an overlapping pattern, the error wraps ErrLocked.
func OpenSeries(name string, pattern *regexp.Regexp) (*Series, error) {
	dir, err := openFolder(folderOf(name))
	if err != nil {
		return nil, named("create", name, err)
	}
	base := filepath.Base(name)
	s := &Series{dir: dir, base: "." + base[:min(len(base), maxTempBase)] + recordEnding, pattern: pattern, made: map[entry]bool{}}
	if s.lock, err = lockPattern(dir, base, pattern); err != nil {
		return nil, named("create", name, errors.Join(err, dir.close()))
	}
	s.read()
	return s, nil
}

// Close lets other runs have the series.
func (s *Series) Close() error {
	err := s.lock.Unlock()
	_ = s.flush() // Err has returned the error
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	return errors.Join(err, s.dir.close())
}

// Err returns why the record lacks files, nil if it does not. It returns each error once.
func (s *Series) Err() error {
	err := s.err
	s.err = nil
	if err != nil {
		return fmt.Errorf("files are not recorded in %s, so that a later run does not know them: %w", s.dir.join(s.base), err)
	}
	return nil
}

func entryOf(name string, info fs.FileInfo) entry {
	return entry{name, number(info), info.Size(), info.ModTime().UnixNano()}
}

// read reads the record, and leaves out files that are no longer there. If there are such, it
// writes the record anew.
func (s *Series) read() {
	file, err := s.open(os.O_RDONLY)
	if err != nil {
		return // there is none, or add returns the error
	}
	defer file.Close()
	lines, stale := bufio.NewScanner(io.LimitReader(file, maxRecord)), false
	for lines.Scan() {
		if e, ok := parseEntry(lines.Text()); ok && s.holds(e) {
			s.made[e] = true
		} else {
			stale = stale || lines.Text() != ""
		}
	}
	switch err := lines.Err(); {
	case err != nil:
		s.err = fmt.Errorf("read the record: %w", err) // what it has stays
	case stale:
		s.err = s.rewrite()
	}
}

// open opens the record, unless it is a hard link: its file may be anybody's.
func (s *Series) open(flags int) (*os.File, error) {
	file, err := s.dir.openOwn(s.base, flags)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || linked(info) {
		return nil, errors.Join(errForeign, file.Close())
	}
	return file, nil
}

// holds reports whether a file is still as it was made.
func (s *Series) holds(e entry) bool {
	info, err := s.dir.stat(e.name)
	return err == nil && entryOf(e.name, info) == e
}

// parseEntry reads a line, which a crash may have left incomplete.
func parseEntry(line string) (e entry, ok bool) {
	word := strings.SplitN(line, " ", 4)
	if len(word) < 4 {
		return e, false
	}
	var errs [4]error
	e.number, errs[0] = strconv.ParseUint(word[0], 10, 64)
	e.size, errs[1] = strconv.ParseInt(word[1], 10, 64)
	e.modified, errs[2] = strconv.ParseInt(word[2], 10, 64)
	e.name, errs[3] = strconv.Unquote(word[3])
	return e, errors.Join(errs[:]...) == nil && filepath.IsLocal(e.name) && e.name == filepath.Base(e.name)
}

func (e *entry) line() string {
	return strconv.FormatUint(e.number, 10) + " " + strconv.FormatInt(e.size, 10) + " " + strconv.FormatInt(e.modified, 10) + " " + strconv.Quote(e.name)
}

// rewrite replaces the record by the lines that hold.
func (s *Series) rewrite() error {
	if len(s.made) == 0 {
		if _, err := s.dir.stat(s.base); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return s.dir.remove(s.base)
	}
	to := &tempFile{dir: s.dir, base: s.base}
	f := &File{}
	var err error
	if f.out, err = to.create(0o600); err != nil {
		return err
	}
	out := bufio.NewWriter(f.out)
	for e := range s.made {
		_, _ = out.WriteString("\n" + e.line()) // Flush returns the error
	}
	if err = errors.Join(out.Flush(), f.out.Sync()); err == nil {
		err = to.ensureName(f)
	}
	if err == nil {
		err = s.dir.rename(to.temp, s.base)
	}
	if err != nil {
		return errors.Join(err, to.discard(), f.out.Close())
	}
	return f.out.Close()
}

// record adds a file that is about to get a name. A failure shows in Err: the file is complete
// without.
func (s *Series) record(name string, file *os.File) {
	if s == nil {
		return
	}
	info, err := file.Stat()
	if err == nil {
		err = s.add(entryOf(name, info))
	}
	if err != nil {
		s.err = err
	}
}

func (s *Series) add(e entry) error {
	if !s.made[e] {
		if s.added >= freshLines+len(s.made)/2 {
			if err := s.compact(); err != nil {
				return err
			}
		}
		s.made[e] = true
		s.added++
		// The line break comes first: it ends a line that a full disk has cut.
		s.unwritten = append(s.unwritten, "\n"+e.line()...)
	}
	return s.flush()
}

// flush writes the lines that the record lacks, also after a failure.
func (s *Series) flush() error {
	if len(s.unwritten) == 0 {
		return nil
	}
	if s.file == nil {
		file, err := s.open(os.O_RDWR | os.O_APPEND)
		if errors.Is(err, fs.ErrNotExist) {
			file, err = s.dir.open(s.base, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
		}
		if err != nil {
			s.unwritten = s.unwritten[:min(len(s.unwritten), maxUnwritten)]
			return err
		}
		s.file = file
	}
	if _, err := s.file.Write(s.unwritten); err != nil {
		s.unwritten = s.unwritten[:min(len(s.unwritten), maxUnwritten)]
		return err
	}
	if s.unwritten = nil; s.NoSync {
		return nil
	}
	return s.file.Sync()
}

// compact leaves files that are gone out of the record.
func (s *Series) compact() error {
	for e := range s.made {
		if !s.holds(e) {
			delete(s.made, e)
		}
	}
	var err error
	if s.added = 0; s.file != nil {
		err, s.file = s.file.Close(), nil
	}
	s.unwritten = nil // rewrite has them
	return errors.Join(err, s.rewrite())
}

// Settle records a file again after it was closed: some network file systems set the time of the
// last write only then.
func (s *Series) Settle(name string) {
	base := filepath.Base(name)
	info, err := s.dir.stat(base)
	if err != nil {
		return
	}
	now := entryOf(base, info)
	for was := range s.made {
		if was.name == now.name && was.number == now.number && was.size == now.size && was != now {
			if err := s.add(now); err != nil {
				s.err = err
			}
			return
		}
	}
}

// MadeFile is a file that a Series has made, and that is still as it was.
type MadeFile struct {
	Name     string   // in the folder
	Match    []string // of the pattern
	Size     int64
	Modified time.Time
	entry    entry
}

// Files returns the files of the series, and how many others in the folder fit its pattern.
func (s *Series) Files() (files []MadeFile, others int, err error) {
	list, err := s.dir.list()
	if err != nil {
		return nil, 0, err
	}
	defer list.Close()
	names, err := list.Readdirnames(-1)
	for _, name := range names {
		m := s.pattern.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		info, err := s.dir.stat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if e := entryOf(name, info); s.made[e] {
			files = append(files, MadeFile{name, m, info.Size(), info.ModTime(), e})
		} else {
			others++
		}
	}
	return files, others, err
}

// ErrStays says that a file is not removed: it is an input, or no longer a file of the series.
var ErrStays = errors.New("it is an input, or somebody has changed it")

// Remove removes a file of the series, if it is still as it was made and none of keep.
func (s *Series) Remove(f *MadeFile, keep []fs.FileInfo) error {
	info, err := s.dir.stat(f.Name)
	if errors.Is(err, fs.ErrNotExist) {
		delete(s.made, f.entry)
		return nil
	}
	if err != nil {
		return err
	}
	kept := slices.ContainsFunc(keep, func(k fs.FileInfo) bool { return os.SameFile(k, info) })
	if kept || !info.Mode().IsRegular() || entryOf(f.Name, info) != f.entry {
		return &fs.PathError{Op: "remove", Path: s.dir.join(f.Name), Err: ErrStays}
	}
	if err := s.dir.remove(f.Name); err != nil {
		return err
	}
	delete(s.made, f.entry)
	return nil
}
