package pcapfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/flowdedup/flowdedup/capture"
)

// readFailure marks an error of the stream of bytes itself, on its way through
// decompressors, to tell it from theirs.
type readFailure struct{ err error }

func (f *readFailure) Error() string { return f.err.Error() }
func (f *readFailure) Unwrap() error { return f.err }

// failedRead marks err, unless it says where the stream ends. It drops the operation and
// path of a system's error: the ReadError that becomes of the mark names the input.
func failedRead(err error) error {
	if err == nil || err == io.EOF || errors.Is(err, capture.ErrTruncated) {
		return err
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &readFailure{err}
}

// located says where err ended an input: in a ReadError if err is marked, else in an
// InputError.
func located(err error, input string, offset int64, header bool) error {
	var failed *readFailure
	if errors.As(err, &failed) {
		return &capture.ReadError{Input: input, Offset: offset, Err: failed.err}
	}
	return &capture.InputError{Input: input, Offset: offset, Header: header, Err: err}
}

// damaged returns an error that wraps ErrDamaged.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", capture.ErrDamaged, fmt.Sprintf(format, args...))
}

// noEOF turns the end of a stream that must not end yet into an error.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
