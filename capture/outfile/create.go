// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxLinks is how many symbolic links in a row are followed to a name that does
// not exist; Linux stops at 40 as well.
const maxLinks = 40

// ErrEmptyName says that the output has no name.
var ErrEmptyName = errors.New("empty name")

// Create opens an output, which replaces an older file in Commit. The name "-" is standard
// output. Devices, pipes and sockets are written directly; opening a pipe waits for its
// reader until ctx is done, see [WithNoReader]. Commit follows a symbolic link, and
// replaces or creates its target. Unless opt.Plain is set, the ending of the name selects
// a compression: .gz (gzip), .zst (Zstandard) or .lz4 (LZ4 frame), each at its fastest
// level, since packets come faster than any level.
//
// Errors are *fs.PathError with the name as given. An existing file that the user may not
// write is an error, and so is a folder.
func Create(ctx context.Context, name string, opt Options) (*File, error) {
	f := &File{name: name, opt: opt}
	if err := f.open(ctx); err != nil {
		return nil, f.named("create", err)
	}
	return f, f.addStages()
}

// CreateNew opens an output whose name Commit chooses: the first name from next that no file
// has. The names are in the folder of name, and the ending of name selects the compression.
func CreateNew(name string, next func() string, opt Options) (*File, error) {
	f := &File{name: name, opt: opt}
	dir, err := openFolder(folderOf(name))
	if err != nil {
		return nil, f.named("create", err)
	}
	d := &newName{tempFile: tempFile{dir: dir, base: filepath.Base(name), series: opt.Series}, next: next}
	if f.out, err = d.create(f.mode(0o666)); err != nil {
		return nil, f.named("create", errors.Join(err, dir.close()))
	}
	f.dest = d
	return f, f.addStages()
}

// CreateVisible creates a file that has its name from the start, for captures without end.
// The name gets a number if it is taken. The file stays whatever happens, and Flush writes
// its content. Outputs that are not regular files open as in Create.
func CreateVisible(ctx context.Context, name string, opt Options) (*File, error) {
	f := &File{name: name, opt: opt}
	if info, err := os.Stat(name); IsStdout(name) || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return Create(ctx, name, opt)
	}
	dir, err := openFolder(folderOf(name))
	if err != nil {
		return nil, f.named("create", err)
	}
	sweep(dir)
	for next := numbered(SplitName(filepath.Base(name))); ; {
		base := next()
		if f.out, err = dir.open(base, os.O_RDWR|os.O_CREATE|os.O_EXCL, f.mode(0o666)); err == nil {
			f.dest = &visible{dir: dir, base: base}
			f.name = dir.join(base)
			return f, f.addStages()
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, f.named("create", errors.Join(err, dir.close()))
		}
	}
}

// mode returns the mode of a new file.
func (f *File) mode(usual fs.FileMode) fs.FileMode {
	if f.opt.Private {
		return 0o600
	}
	return usual
}

// open decides what the name means and opens the file that is written.
func (f *File) open(ctx context.Context) error {
	if f.name == "" {
		return ErrEmptyName
	}
	info, err := os.Stat(f.name)
	switch special := IsStdout(f.name) || err == nil && !info.Mode().IsRegular() && !info.IsDir(); {
	case special && f.opt.Regular:
		return ErrNotRegular
	case special:
		f.dest = direct{}
		if f.out, err = openDirect(ctx, f.name); err == nil {
			WidenPipe(f.out)
		}
		return err
	case err == nil && info.IsDir():
		return syscall.EISDIR
	case errors.Is(err, fs.ErrNotExist):
		info = nil
	case err != nil:
		return err
	default:
		if err := checkWritable(f.name); err != nil {
			return err
		}
	}
	final, err := followLinks(f.name)
	if err != nil {
		return err
	}
	return f.openReplacing(final, info)
}

// openReplacing opens the file that will be final. info describes the file of that name, and is nil
// if there is none.
func (f *File) openReplacing(final string, info fs.FileInfo) error {
	dir, err := openFolder(folderOf(final))
	if err != nil {
		return err
	}
	d := &replacing{dir: dir, had: info}
	d.tempFile = tempFile{dir: dir, base: filepath.Base(final)}
	fail := func(err error) error { return errors.Join(err, d.close()) }
	sweep(dir)
	if !f.opt.Locked {
		if d.lock, err = lockName(dir, d.base); err != nil {
			return fail(err)
		}
	}
	mode := f.mode(0o666)
	if info != nil {
		mode = 0o600 // until it has the owner of the old file
	}
	f.out, err = d.create(mode)
	if info != nil && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) { // of the folder
		f.out, err = d.createElsewhere(mode)
	}
	if err != nil {
		return fail(err)
	}
	f.dest = d
	if info == nil || f.opt.Private {
		return nil
	}
	keepOwner(f.out, info)
	if err := f.out.Chmod(info.Mode().Perm()); err != nil {
		return fail(errors.Join(err, f.close(), d.discard()))
	}
	return nil
}

// checkWritable returns an error for a file that the user protected. A rename needs only the
// right to write to the folder.
func checkWritable(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|openAtOnce, 0)
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
			// The folder is resolved first: ".." in a link counts from where the link really
			// lies. The system resolves the others.
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

// folderOf returns a path without its last part. Unlike filepath.Dir it keeps "..", which
// leads elsewhere after a symbolic link.
func folderOf(name string) string {
	dir, _ := filepath.Split(name)
	return cmp.Or(dir, ".")
}
