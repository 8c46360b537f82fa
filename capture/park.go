package capture

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// errReplaced is why a parked file cannot be read on.
var errReplaced = errors.New("the file was replaced while it waited for its turn")

// Park gives back the descriptor of a source that Open has opened, and its
// decompressors, until a call of Next has to read on; what was read stays. With it,
// hundreds of files whose times do not overlap can be merged with few of them open. It
// does nothing for what cannot be opened again at the same place: standard input, pipes,
// devices, sources of several.
//
// It must not be called during Next, nor between the Reserve and the Next of a batch.
func Park(src Source) {
	if r, ok := src.(*reader); ok {
		r.in.park()
	}
}

// parking is what an input needs to be closed and opened again.
type parking struct {
	path      string      // of a regular file, or empty
	info      fs.FileInfo // of that file at first
	parked    bool
	handedOut int64 // bytes that were read since the input is open, decompressed
}

// park closes the file until wake is called.
func (in *input) park() {
	if in.path != "" && !in.parked && !in.closed {
		_ = in.release() // it was only read
		in.parked = true
	}
}

// wake opens the file again if it is parked, where it was.
func (in *input) wake() error {
	if !in.parked {
		return nil
	}
	f, err := in.reopen()
	if err != nil {
		return failedRead(err)
	}
	in.file, in.regular.f, in.parked = f, f, false
	if len(in.layers) == 0 {
		return nil
	}
	return in.rewind()
}

// reopen opens the file that was opened first, and no other of its name.
func (in *input) reopen() (*os.File, error) {
	f, err := os.Open(in.path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(info, in.info) {
		err = errReplaced
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// rewind decompresses from the start of the file to where reading was.
func (in *input) rewind() error {
	was := in.handedOut
	in.layers, in.opened, in.regular.pos = nil, false, 0
	in.raw.done.Store(0)
	head, err := in.open()
	if err != nil {
		return err
	}
	missing := was - int64(len(head))
	if missing < 0 {
		return failedRead(errReplaced)
	}
	_, err = io.CopyN(io.Discard, in, missing)
	return noEOF(err)
}
