package outfile

import (
	"bufio"
	"context"
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
	// or half file behind it.
	NoSync bool
	// Private gives a regular file the mode 0600, whatever one it replaces had.
	Private bool
	// Plain never compresses, whatever the name ends in.
	Plain bool
	// Locked says that the caller holds the Lock of the name.
	Locked bool
	// Input is the regular file that is read while this output replaces it, as it
	// was when it was opened; nil for none.
	Input fs.FileInfo
	// Workers is how many goroutines compress the output, at most 8; 0 for as many
	// as there are processors. What they make does not depend on it.
	Workers int
}

var (
	// ErrClosed is what a File returns after the call that ended it.
	ErrClosed = errors.New("output already closed")
	// ErrMoved says that a complete file is not where its name leads any more.
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
	discarding atomic.Bool // what compressors still put out goes nowhere

	written int64 // bytes that are in out
	failed  error // the first failed write
	cut     bool  // a failed write left bytes of its own
	done    bool
	result  error // of the call that ended it
}

// destination is where an open file goes in the end.
type destination interface {
	// regular reports whether the file can be synced and cut.
	regular() bool
	// commit gives the file its name, after a clean end.
	commit(f *File) error
	// keep gives it a visible name, which it returns.
	keep(f *File) (string, error)
	// discard removes it.
	discard() error
	// close gives back what the destination holds, once.
	close() error
}

// Write appends p, which may be reused afterwards. A write that fails takes back what
// it wrote of p to a plain regular file. An error names the output as it was given and
// lasts: every later call returns it too.
func (f *File) Write(p []byte) (int, error) {
	switch {
	case f.done:
		return 0, f.named("write", ErrClosed)
	case f.failed != nil:
		return 0, f.failed
	}
	var n int
	var err error
	if f.compress != nil {
		n, err = f.compress.Write(p)
	} else {
		n, err = f.put(p)
	}
	if err != nil {
		f.fail("write", err)
	}
	return n, f.failed
}

// Flush makes all that was written readable for others: it ends a block of a
// compressed stream.
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

// Gathers reports whether small writes are better gathered by the caller: nobody waits
// for them.
func (f *File) Gathers() bool { return f.dest.regular() || f.compress != nil }

// Name returns the name as it was given, or as it was chosen since.
func (f *File) Name() string { return f.name }

// Commit writes what is pending and gives the file its name. If it fails, an older file
// of that name is still there, and what was written is kept, under a name that the error
// tells; only if copying into an older file fails midway, that one is lost too. Further
// calls return the same result.
//
// The file is synced before it is renamed, since a file system may write the new name
// to disk before the content, and the folder afterwards, since the name is only safe
// once that is on disk.
func (f *File) Commit() error {
	if f.done {
		return f.result
	}
	err := f.finish()
	if err == nil && f.dest.regular() && !f.opt.NoSync {
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

// keptAfter keeps what was written after err, and tells where it is.
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

// KeptError is an error after which what was written is kept under another name.
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

// Keep ends an output whose run did not end well: it writes what is pending, and gives
// the file a visible name, which it returns: its own, if no file has that and no write
// has failed. The name is empty for what is no regular file. Nothing waits for the disk.
// The error is not that of a Write before.
func (f *File) Keep() (string, error) {
	if f.done {
		return "", f.result
	}
	told := f.failed != nil
	broken := f.finish()
	if told {
		broken = nil
	}
	name, err := f.keep()
	err = f.end(f.named("keep", err))
	return name, errors.Join(broken, err)
}

// keep gives the file a visible name, unless the first write of all has failed.
func (f *File) keep() (string, error) {
	if f.failed != nil && f.written == 0 && f.dest.regular() {
		return "", f.dest.discard()
	}
	return f.dest.keep(f)
}

// Discard closes the output and removes what was written, but from devices, pipes and
// standard output, where only what is pending goes. After another end it does nothing
// and returns nil.
func (f *File) Discard() error {
	if f.done {
		return nil
	}
	if f.compress != nil {
		// Only Close waits for its goroutines; what it completes goes nowhere.
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
	if f.cut && f.dest.regular() && f.compress == nil {
		_ = f.out.Truncate(f.written) // a reader finds the end of what is whole
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

// addStages puts a compressor before the open file if the name asks for one. If that
// fails the output is discarded.
func (f *File) addStages() error {
	if f.opt.Plain {
		return nil
	}
	const tailSize = 256 << 10
	tail := bufio.NewWriterSize(fileWriter{f}, tailSize)
	pack, err := newCompressor(f.name, tail, f.opt.Workers)
	if err != nil {
		return errors.Join(f.named("create", err), f.Discard())
	}
	if pack != nil {
		f.compress, f.tail = pack, tail
	}
	return nil
}

// fileWriter writes to the open file of a File.
type fileWriter struct{ f *File }

func (p fileWriter) Write(b []byte) (int, error) {
	if p.f.discarding.Load() {
		return len(b), nil
	}
	return p.f.put(b)
}

// writeBehind is after how many bytes the disk is set to work on them. The sync in
// Commit then waits for little more than the last of them, instead of for a file that
// may have been gathering in memory all along.
const writeBehind = 8 << 20

// put writes to the open file, and has the disk begin with whole stretches of one that
// is going to be synced.
func (f *File) put(p []byte) (int, error) {
	n, err := f.out.Write(p)
	if err == nil && n != len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		f.cut = n > 0
		return n, err
	}
	before := f.written &^ (writeBehind - 1)
	f.written += int64(n)
	if now := f.written &^ (writeBehind - 1); now > before && f.dest.regular() && !f.opt.NoSync {
		startWriteBack(f.out, before, now-before)
	}
	return n, nil
}

// named gives err the name that the user knows instead of the temporary one. It
// returns nil for nil.
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

// direct is a destination that is written to as it is: a device, a pipe, a socket, or
// standard output.
type direct struct{}

func (direct) regular() bool              { return false }
func (direct) commit(*File) error         { return nil }
func (direct) keep(*File) (string, error) { return "", nil }
func (direct) discard() error             { return nil }
func (direct) close() error               { return nil }

// openDirect opens what is no regular file. A pipe opens when it has a reader, so this
// may wait until ctx is done; the opening itself then ends with the process.
func openDirect(ctx context.Context, name string) (*os.File, error) {
	if IsStdout(name) {
		// Opened by its path, it would start at offset 0 of a file that a shell
		// opened for appending.
		return os.Stdout, stdoutOpen()
	}
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		done <- opened{file, err}
	}()
	select {
	case o := <-done:
		return o.file, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
