// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
)

// Options changes how files are made. The zero value is the safe choice.
type Options struct {
	// NoSync leaves out the wait for the disk in Commit. A crash of the machine
	// (not of the program) soon after may then leave the new name with an empty
	// or half file.
	NoSync bool
	// Private gives a regular file the mode 0600, also if it replaces a file of a different mode.
	Private bool
	// Plain never compresses, whatever the name ends in.
	Plain bool
	// Regular refuses a pipe, a device or a socket, which Create writes to otherwise.
	Regular bool
	// Series, if not nil, records each name that CreateNew's output may get, before it gets it. An
	// output whose folder takes no name stays open: see [File.Homeless].
	Series *Series
	// Locked says that the caller holds the Lock of the name.
	Locked bool
	// Input describes the regular file that this output replaces while it is read, as it
	// was when it was opened; nil for none.
	Input fs.FileInfo
	// Workers is how many goroutines compress the output, at most 8; 0 stands for the
	// number of processors. The output does not depend on it.
	Workers int
}

var (
	// ErrClosed is returned by a File after the call that ended it.
	ErrClosed = errors.New("output already closed")
	// ErrMoved says that a complete file no longer has its name.
	ErrMoved = errors.New("the folder was moved or unmounted, or the file removed, during the run")
	// ErrChanged says that the input that was to be replaced has changed.
	ErrChanged = errors.New("the input changed while it was read")
)

// File is an output; the package comment has its contract. It is for one goroutine.
// One of Commit, Keep and Discard must be called.
type File struct {
	name       string // as given, for errors
	opt        Options
	dest       destination
	out        *os.File
	compress   compressor // nil for a plain file
	tail       *bufio.Writer
	ending     string      // of CompressAs
	parked     bool        // compression begins with the next Write
	discarding atomic.Bool // later output of compressors is discarded

	written int64 // bytes that are in out
	failed  error // the first failed write
	cut     bool  // a failed write left bytes of its own
	partial bool  // it ends before the stream does
	lost    bool  // no name could be given to the output
	done    bool
	result  error // of the call that ended it
}

// destination is where an open file goes in the end.
type destination interface {
	// commit gives the file its name, after a clean end.
	commit(f *File) error
	// keep gives it a visible name, which it returns.
	keep(f *File) (string, error)
	// discard removes it.
	discard() error
	// close releases the destination's resources, once.
	close() error
}

// regular reports whether the open file can be synced and cut.
func (f *File) regular() bool { return f.dest != direct{} }

// Write appends p, and does not keep it. A failed write to a plain regular file removes the
// written part of p. Errors have the name as given, and every later call returns them.
func (f *File) Write(p []byte) (int, error) {
	switch {
	case f.done:
		return 0, f.named("write", ErrClosed)
	case f.failed != nil:
		return 0, f.failed
	}
	var n int
	var err error
	if f.parked {
		f.parked, err = false, f.addStages()
	}
	switch {
	case err != nil:
	case f.compress != nil:
		n, err = f.compress.Write(p)
	default:
		n, err = f.put(p)
	}
	if err != nil {
		f.fail("write", err)
	}
	return n, f.failed
}

// Flush ends a block of a compressed stream, so other programs can read all that was
// written.
func (f *File) Flush() error {
	if f.failed != nil || f.done || f.compress == nil {
		return f.failed
	}
	err := f.compress.Flush()
	if err == nil {
		err = f.tail.Flush()
	}
	if err != nil {
		f.fail("write", err)
	}
	return f.failed
}

// Gathers reports whether the caller should gather small writes: no reader waits for them.
func (f *File) Gathers() bool { return f.regular() || f.compress != nil }

// Name returns the name as it was given, or as it was chosen since.
func (f *File) Name() string { return f.name }

// Commit writes pending data, and gives the file its name. If it fails, an older file of that
// name is unchanged, and the output stays under a name that the error gives ([KeptError]).
// Only a copy into an older file that fails midway destroys that file. Further calls return
// the same result.
//
// Commit syncs the file before the rename: a file system may write the new name to disk
// before the content. It syncs the folder afterwards, which makes the name durable.
func (f *File) Commit() error {
	if f.done {
		return f.result
	}
	err := f.finish()
	if err == nil && f.regular() && !f.opt.NoSync {
		err = f.named("sync", f.out.Sync())
	}
	if err == nil {
		err = f.named("write", f.dest.commit(f))
	}
	if err != nil && !errors.Is(err, ErrMoved) {
		err = f.keptAfter(err)
	}
	return f.end(err)
}

// keptAfter keeps the output after err, and adds its name to the error.
func (f *File) keptAfter(err error) error {
	f.failed = err
	name, kept := f.keep()
	switch {
	case kept != nil:
		return errors.Join(err, f.named("keep", kept))
	case name == "" || name == f.name:
		return err
	}
	return &KeptError{Name: name, Err: err}
}

// KeptError is an error after which the output is kept under a name of its own.
type KeptError struct {
	Name string
	Err  error
}

// Error names the cause and the file that is left.
func (k *KeptError) Error() string {
	return fmt.Sprintf("%v; what was written is in %s", k.Err, k.Name)
}

// Unwrap returns the cause.
func (k *KeptError) Unwrap() error { return k.Err }

// Keep ends an output after an error of the run. It writes pending data, gives the file a
// visible name, and returns the name: its own name, if no file has it and no write has failed,
// else a partial name. The name is empty for an output that is not a regular file. Keep does
// not sync, and does not return the error of an earlier Write.
func (f *File) Keep() (string, error) {
	if f.done {
		return "", f.result
	}
	reported := f.failed != nil
	broken := f.finish()
	if reported {
		broken = nil
	}
	name, err := f.keep()
	err = f.end(f.named("keep", err))
	return name, errors.Join(broken, err)
}

// KeepPartial is Keep for an output that ends before its stream does, for a reason of its
// own: it gets a partial name.
func (f *File) KeepPartial() (string, error) {
	f.partial = true
	return f.Keep()
}

// isPartial reports whether the file gets a partial name.
func (f *File) isPartial() bool { return f.partial || f.failed != nil }

// keep gives the file a visible name, unless the first write of all has failed.
func (f *File) keep() (string, error) {
	if f.failed != nil && f.written == 0 && f.regular() {
		f.lost = true
		return "", f.dest.discard()
	}
	name, err := f.dest.keep(f)
	f.lost = err != nil
	return name, err
}

// Lost reports, after Commit or Keep, whether the output is lost: no folder took a name for
// it, or it was empty.
func (f *File) Lost() bool { return f.lost }

// Discard closes the output and removes the file. For devices, pipes and standard output it
// drops pending data. After Commit, Keep or Discard it does nothing and returns nil.
func (f *File) Discard() error {
	if f.done {
		return nil
	}
	if f.compress != nil {
		// Only Close waits for its goroutines; its output is discarded.
		f.discarding.Store(true)
		_ = f.compress.Close()
	}
	// Closing comes first: Windows removes no open file.
	_ = f.close()
	err := errors.Join(f.dest.discard(), f.dest.close())
	f.done, f.result = true, f.named("commit", ErrClosed)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.named("discard", err)
	}
	return nil
}

// end notes the result of the call that ends the output.
func (f *File) end(err error) error {
	f.done, f.result = true, err
	if f.opt.Series != nil && f.homeless() != nil {
		return err
	}
	closed := errors.Join(f.close(), f.dest.close())
	if err == nil && closed != nil {
		f.result = f.named("close", closed)
	}
	return f.result
}

// finish flushes every stage, unless writing has failed.
func (f *File) finish() error {
	if f.compress != nil {
		f.discarding.Store(f.failed != nil)
		err := f.compress.Close()
		f.compress = nil
		if err == nil {
			err = f.tail.Flush()
		}
		if err != nil && f.failed == nil {
			f.fail("write", err)
		}
	}
	return f.failed
}

// fail notes the first failure of a write.
func (f *File) fail(op string, err error) {
	f.failed = f.named(op, err)
	if f.cut && f.regular() && f.compress == nil {
		_ = f.out.Truncate(f.written) // a reader finds the end of the complete part
	}
}

// close closes the file once; standard output belongs to the program and stays open.
func (f *File) close() error {
	out := f.out
	f.out = nil
	if out == nil || out == os.Stdout {
		return nil
	}
	return out.Close()
}

// fileWriter writes to the open file of a File.
type fileWriter struct{ f *File }

func (p fileWriter) Write(b []byte) (int, error) {
	if p.f.discarding.Load() {
		return len(b), nil
	}
	return p.f.put(b)
}

// writeBehind is after how many bytes the system begins to write them to disk. The sync in
// Commit then waits for little more than the last of them. Otherwise the whole file might
// still be in memory.
const writeBehind = 8 << 20

// put writes to the open file. It starts write-back of each writeBehind bytes of a file that
// Commit will sync.
func (f *File) put(p []byte) (int, error) {
	n, err := f.writePieces(p)
	if err != nil {
		f.cut = n > 0
		return n, err
	}
	before := f.written &^ (writeBehind - 1)
	f.written += int64(n)
	if now := f.written &^ (writeBehind - 1); now > before && f.regular() && !f.opt.NoSync {
		startWriteBack(f.out, before, now-before)
	}
	return n, nil
}

// writePiece is the size of a write to a regular file: the page cache takes it in some 20
// microseconds. When a call takes longer, the runtime gives the worker's place to a new thread, and
// the worker has to get its place back. Pieces end at multiples of writePiece in the file, so that
// file systems such as ext4 and XFS take each as a folio of the page cache. Across these
// boundaries ext4 needs a fifth more time.
const writePiece = 64 << 10

// writePieces writes p, and returns how much of it.
func (f *File) writePieces(p []byte) (int, error) {
	n, err := 0, error(nil)
	for n < len(p) && err == nil {
		want, got := len(p)-n, 0
		if f.regular() {
			want = min(want, writePiece-int((f.written+int64(n))%writePiece))
		}
		if got, err = f.out.Write(p[n : n+want]); err == nil && got != want {
			err = io.ErrShortWrite
		}
		n += got
	}
	return n, err
}

// named replaces the temporary name in err by the name as given. It returns nil for nil.
func (f *File) named(op string, err error) error {
	return named(op, f.name, err)
}

func named(op, name string, err error) error {
	if err == nil {
		return nil
	}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		if path.Path == name {
			return err
		}
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
