package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// OutputOptions changes how Create writes. The zero value is the safe choice.
type OutputOptions struct {
	// NoSync leaves out the wait for the disk in Commit. A crash of the machine
	// (not of the program) soon after may then leave the new name with an empty
	// or half file behind it.
	NoSync bool
	// Private gives a regular file the mode 0600, whatever one it replaces had.
	Private bool
	// Plain writes the bytes as they are, whatever the name ends in.
	Plain bool
	// Workers is how many goroutines compress the output, at most 8; 0 for as many
	// as there are processors. What they make does not depend on it.
	Workers int
}

// Output is a file that appears under its name whole or not at all.
//
// A regular file is written under a temporary name in the same folder,
// ".NAME.RANDOM.tmp", and takes the place of the old one in Commit, so that the
// output may even be one of the inputs (on Windows only once the input is
// closed). A killed program leaves nothing but that temporary name. The new
// file has the mode of the one that it replaces, else 0666 less the umask; it
// is a new file in every other way, so hard links keep the old content.
//
// What is no regular file (a device, a FIFO, standard output) is written
// directly and never replaced. A symbolic link is followed: its target is what
// is replaced, even where it does not exist yet.
//
// The ending of the name as given selects a compression: .gz (gzip),
// .zst (Zstandard), .lz4 (LZ4 frame), each at its fastest level, since the bytes
// come faster than any level can take them.
//
// An Output is for one goroutine. Either Commit or Abort must be called.
type Output struct {
	buf  *outBuffer     // gathers what is written
	pack io.WriteCloser // compresses what buf passes on; nil for a plain file
	gate *gate          // between pack and tail
	tail *outBuffer     // gathers what pack puts out
	file *os.File
	name string // as given, for errors
	// temp is the path that is written and final the one it gets in Commit; both
	// are empty where file is written directly.
	temp, final string
	// names gives one final name after another until one is free; where it is nil,
	// final is the name, and what has it is replaced.
	names   func() string
	noSync  bool
	private bool
	written int64 // bytes passed on to file
	done    bool
	result  error // of the call that ended it
}

// errClosed is what Commit returns after Abort, and Write after either.
var errClosed = errors.New("output already closed")

// Create opens an output. The name "-" is standard output.
//
// Errors are *fs.PathError with the name as given; an existing file that may
// not be written, or a folder, is refused.
func Create(name string, opt OutputOptions) (*Output, error) {
	o := &Output{name: name, noSync: opt.NoSync, private: opt.Private}
	if err := o.open(); err != nil {
		return nil, o.named("create", err)
	}
	return o, o.addStages(opt)
}

// addStages puts what gathers, and what compresses if the name asks for it, before
// the open file. If it fails the output is closed.
func (o *Output) addStages(opt OutputOptions) error {
	o.buf = newOutBuffer(namedWriter{o})
	if opt.Plain {
		return nil
	}
	through := &gate{w: o.buf}
	pack, err := newPacker(o.name, through, opt.Workers)
	if err != nil {
		return errors.Join(o.named("create", err), o.Abort())
	}
	if pack != nil {
		o.pack, o.gate, o.tail, o.buf = pack, through, o.buf, newOutBuffer(pack)
	}
	return nil
}

// Write appends p. Small slices are gathered and large ones passed on without
// a copy; p may be reused afterwards. An error names the output as it was given
// and lasts: every later call returns it too.
func (o *Output) Write(p []byte) (int, error) {
	return o.buf.Write(p)
}

// Commit writes what was gathered and puts the file in its place. When it
// fails, nothing is left of the output and an older file of that name is still
// there; only if the very last step, syncing the folder, fails, the new file is
// there and may not outlast a crash. Further calls return the same result.
//
// The file is synced before it is renamed, since a file system may write the
// new name to disk before the content, and the folder afterwards, since the
// name is only safe once that is on disk.
func (o *Output) Commit() error {
	if o.done {
		return o.result
	}
	if err := o.finish(); err != nil {
		aborted := o.Abort()
		o.result = errors.Join(err, aborted)
	}
	o.done = true
	o.buf.err = o.named("write", errClosed)
	return o.result
}

// Abort closes the output and removes what was written, except from devices,
// FIFOs and standard output, where only what is still gathered is discarded.
// After Commit or Abort it does nothing and returns nil.
func (o *Output) Abort() error {
	if o.done {
		return nil
	}
	o.done, o.result = true, o.named("commit", errClosed)
	if o.pack != nil {
		// Only Close waits for its goroutines; what it completes goes nowhere.
		o.gate.shut.Store(true)
		_ = o.pack.Close()
	}
	o.buf.err = o.named("write", errClosed)
	// Closing comes first: Windows removes no open file.
	_ = o.close()
	if o.temp == "" {
		return nil
	}
	if err := os.Remove(o.temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("abort %s: %w", o.name, err)
	}
	return nil
}

// finish flushes every stage and moves the file to its final name.
func (o *Output) finish() error {
	if err := o.buf.flush(); err != nil {
		return err
	}
	if o.pack != nil {
		pack := o.pack
		o.pack = nil
		if err := pack.Close(); err != nil {
			return err
		}
		if err := o.tail.flush(); err != nil {
			return err
		}
	}
	if o.temp != "" && !o.noSync {
		if err := o.file.Sync(); err != nil {
			return o.named("sync", err)
		}
	}
	if err := o.close(); err != nil {
		return o.named("close", err)
	}
	if o.temp == "" {
		return nil
	}
	if err := o.place(); err != nil {
		return o.named("rename", err)
	}
	if o.noSync {
		return nil
	}
	return o.named("sync folder of", syncFolder(o.final))
}

// close closes the file once; standard output belongs to the program and stays
// open.
func (o *Output) close() error {
	f := o.file
	o.file = nil
	if f == nil || f == os.Stdout {
		return nil
	}
	return f.Close()
}

// named gives err the name that the user knows instead of the temporary one.
// It returns nil for nil.
func (o *Output) named(op string, err error) error {
	if err == nil {
		return nil
	}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return &fs.PathError{Op: op, Path: o.name, Err: err}
}

// namedWriter writes to the file of an Output with errors that name it.
type namedWriter struct{ o *Output }

func (w namedWriter) Write(p []byte) (int, error) {
	n, err := w.o.file.Write(p)
	w.o.passed(n)
	return n, w.o.named("write", err)
}

// writeBehind is after how many bytes the disk is set to work on them. The sync in
// Commit then waits for little more than the last of them, instead of for a file that
// may have been gathering in memory all along.
const writeBehind = 8 << 20

// passed counts n bytes more, and has the disk begin with whole stretches of a file
// that is going to be synced.
func (o *Output) passed(n int) {
	before := o.written &^ (writeBehind - 1)
	o.written += int64(n)
	if now := o.written &^ (writeBehind - 1); now > before && o.temp != "" && !o.noSync {
		startWriteBack(o.file, before, now-before)
	}
}
