// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Reasons why an input cannot be read to its end; test with errors.Is.
var (
	ErrEmpty         = errors.New("empty file")
	ErrUnknownFormat = errors.New("not a pcap or pcapng capture")
	ErrTruncated     = errors.New("cut short")
	ErrDamaged       = errors.New("damaged")
	ErrNotSupported  = errors.New("not supported")
)

// InputError says which input is damaged, and where. Where reading failed, the error is a
// [ReadError] instead.
type InputError struct {
	Input  string // the name as the user gave it; "stdin" for "-"
	Offset int64  // byte offset of the record or block, in the decompressed stream
	// Header is set if the damage lies before the first record or block that could hold
	// a packet. Then the input gave no packets.
	Header bool
	Err    error
}

// ReadError says which input could not be read, and from where on. The content may be
// sound, and a second attempt may read it. Everything before it was delivered.
type ReadError struct {
	Input  string // as in InputError
	Offset int64  // as in InputError
	Err    error  // of the system, or of the io.Reader
}

// Error returns a line that names the input and the offset.
func (e *ReadError) Error() string {
	return fmt.Sprintf("%s: offset %d: read error: %v", e.Input, e.Offset, e.Err)
}

// Unwrap returns the reason.
func (e *ReadError) Unwrap() error { return e.Err }

// Error returns a line that names the input and the offset.
func (e *InputError) Error() string {
	return fmt.Sprintf("%s: offset %d: %v", e.Input, e.Offset, e.Err)
}

// Unwrap returns the reason.
func (e *InputError) Unwrap() error { return e.Err }

// FailedRead marks an error of a stream of bytes itself, so that readers of its content pass
// it on: as a [ReadError] without a place, which [Locate] adds. The operation and the path of
// a system's error are dropped, since Locate names the input. Errors about the end of the
// content stay as they are: io.EOF, and errors that wrap any of the reasons above.
func FailedRead(err error) error {
	if err == nil || err == io.EOF || IsUnread(err) {
		return err
	}
	for _, reason := range [...]error{ErrEmpty, ErrUnknownFormat, ErrTruncated, ErrDamaged, ErrNotSupported} {
		if errors.Is(err, reason) {
			return err
		}
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &ReadError{Err: err}
}

// Locate returns err with the place where it ended the input: as a ReadError if FailedRead
// has marked it, else as an InputError.
func Locate(err error, input string, offset int64, header bool) error {
	var failed *ReadError
	if errors.As(err, &failed) {
		return &ReadError{Input: input, Offset: offset, Err: failed.Err}
	}
	return &InputError{Input: input, Offset: offset, Header: header, Err: err}
}

// IsDamage reports whether err wraps an InputError.
func IsDamage(err error) bool {
	var in *InputError
	return errors.As(err, &in)
}

// IsUnread reports whether err wraps an InputError or a ReadError: an input was not read
// to its end. Such an error names the input.
func IsUnread(err error) bool {
	var failed *ReadError
	return IsDamage(err) || errors.As(err, &failed)
}
