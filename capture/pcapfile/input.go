// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/compressed"
)

// input is the stream of bytes below a reader: a file or any io.Reader, as stored, and the
// decompressors over it.
type input struct {
	raw     counter
	total   int64        // size as stored, 0 if unknown
	file    io.Closer    // nil if the stream is not ours to close
	regular *regularFile // the regular file that the stream is, whose reads never wait, or nil

	data       *compressed.Reader // the decompressed raw; nil if it is not decompressed
	compressed bool               // set once, as any worker may read it at any time
	ahead      *readAhead         // reads data, if it is compressed, from the first Read after open on
	plain      bool               // it is not decompressed
	closed     bool
	parking
}

// open recognizes and opens the decompressors, and returns the first bytes of the data
// inside: at most compressed.HeadSize bytes, and fewer than 4 only at the end of the stream.
func (in *input) open() (head []byte, err error) {
	if in.plain {
		head, err = readUntil(&in.raw, make([]byte, 0, compressed.HeadSize), 4, compressed.HeadSize)
		if err == io.EOF {
			err = nil
		}
	} else {
		in.data, head, err = compressed.NewReader(&in.raw)
	}
	in.handedOut = int64(len(head))
	return head, err
}

// Read reads capture bytes. Once the input is open, decompressors work ahead on
// a goroutine of their own.
func (in *input) Read(p []byte) (int, error) {
	if in.closed {
		return 0, os.ErrClosed
	}
	if err := in.wake(); err != nil {
		return 0, err
	}
	n, err := in.read(p)
	in.handedOut += int64(n)
	return n, err
}

func (in *input) read(p []byte) (int, error) {
	if !in.compressed {
		return in.raw.Read(p)
	}
	if in.ahead == nil {
		in.ahead = startReadAhead(in.data, in.data.Close)
	}
	return in.ahead.Read(p)
}

// offset returns the bytes consumed as stored, and their total or 0.
func (in *input) offset() (done, total int64) {
	done, total = in.raw.done.Load(), in.total
	if total > 0 {
		total = max(total, done) // the file may have grown
	}
	return done, total
}

// close releases everything; further calls do nothing.
func (in *input) close() error {
	if in.closed {
		return nil
	}
	in.closed = true
	if in.parked {
		return nil
	}
	return in.release()
}

// release closes the file and the decompressors, and drops their memory: a Source of
// many inputs holds all of them to the end.
func (in *input) release() error {
	if in.ahead != nil {
		close(in.ahead.stop)
	} else if in.data != nil {
		in.data.Close()
	}
	var err error
	if in.file != nil {
		err = in.file.Close()
	}
	// The goroutine of a pipe may still be in a read; it ends by itself.
	if in.ahead != nil && in.regular != nil {
		<-in.ahead.done
	}
	in.data, in.ahead = nil, nil
	return err
}

// counter counts the bytes read through it, and marks errors of the stream itself. Other errors
// come from a decompressor above.
type counter struct {
	r    io.Reader
	done atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.done.Add(int64(n))
	return n, capture.FailedRead(err)
}

// regularFile reads a regular file. At the end that the file had at first, it asks once for
// the end that the file has now, and reads up to there. So reading ends even if the file
// grows as fast as it is read. A file that has become shorter is truncated.
type regularFile struct {
	f     *os.File
	size  int64 // at first
	pos   int64 // of the next reserve
	end   int64
	ended bool // end is where it stays
}

// reserve returns where the next n bytes lie, or fewer at the end: none with io.EOF.
func (r *regularFile) reserve(n int) (off int64, length int, err error) {
	if r.end-r.pos < int64(n) && !r.ended {
		st, err := r.f.Stat()
		if err != nil {
			return r.pos, 0, capture.FailedRead(err)
		}
		r.end, r.ended = max(r.end, st.Size()), true
	}
	off = r.pos
	length = int(min(int64(n), max(r.end-off, 0)))
	r.pos += int64(length)
	if length == 0 {
		err = io.EOF
	}
	return off, length, err
}

// readPiece is the size of a read of a regular file: the page cache gives it in some 20
// microseconds. When a call takes longer, the runtime gives the worker's place to a new thread,
// which finds nothing to do where all workers are busy, and the worker has to get its place back.
const readPiece = 128 << 10

// load reads reserved ranges, in any order.
func (r *regularFile) load(p []byte, off int64) (int, error) {
	n, err := 0, error(nil)
	for n < len(p) && err == nil {
		m := 0
		m, err = r.f.ReadAt(p[n:min(n+readPiece, len(p))], off+int64(n))
		n += m
	}
	if err == io.EOF {
		had := max(r.size, off+int64(len(p)))
		return n, fmt.Errorf("file %w: it had %d bytes, and nothing is left after %d", capture.ErrTruncated, had, off+int64(n))
	}
	return n, capture.FailedRead(err)
}

// Read reserves and loads.
func (r *regularFile) Read(p []byte) (int, error) {
	off, n, err := r.reserve(len(p))
	if err != nil {
		return 0, err
	}
	return r.load(p[:n], off)
}

// maxEmptyReads is how often in a row a reader may return nothing and no error.
const maxEmptyReads = 100

// readUntil appends bytes of r to buf, until buf holds need bytes. A read asks for the missing
// bytes, or for more if buf has room, but at most step bytes, so memory grows with the data
// that arrives. The error is nil if there are need bytes.
func readUntil(r io.Reader, buf []byte, need, step int) ([]byte, error) {
	for empty := 0; len(buf) < need; {
		n := len(buf)
		room := min(max(need-n, cap(buf)-n), step)
		buf = grow(buf, room)
		m, err := r.Read(buf[n : n+room])
		buf = buf[:n+m]
		if err != nil && len(buf) < need {
			return buf, err
		}
		if empty++; m > 0 {
			empty = 0
		} else if empty == maxEmptyReads {
			return buf, capture.FailedRead(io.ErrNoProgress)
		}
	}
	return buf, nil
}

// grow returns buf with room for n more bytes. It adds an eighth to n, since partial records
// vary in length. It grows by half of buf at least: otherwise each chunk of a long record
// would copy all chunks before it.
func grow(buf []byte, n int) []byte {
	if cap(buf)-len(buf) >= n {
		return buf
	}
	grown := make([]byte, len(buf), max(len(buf)+n+n/8, len(buf)+len(buf)/2))
	copy(grown, buf)
	return grown
}

// errReplaced is why a parked file cannot be read on.
var errReplaced = errors.New("the file was replaced while it waited for its turn")

// Park closes the file of a source that Open returned, and its decompressors. The call of
// Next that has to read on opens them again. So hundreds of files whose times do not
// overlap can be merged with few of them open. Park does nothing for sources that cannot be
// opened again at the same offset: standard input, pipes, devices, and sources of several inputs.
//
// It must not be called during Next, nor between the Reserve and the Next of a batch.
func Park(src capture.Source) {
	if r, ok := src.(*reader); ok {
		r.in.park()
	}
}

// parking is the state of an input that is closed and opened again.
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

// wake opens a parked file again, at the same offset.
func (in *input) wake() error {
	if !in.parked {
		return nil
	}
	f, err := in.reopen()
	if err != nil {
		return capture.FailedRead(err)
	}
	in.file, in.regular.f, in.parked = f, f, false
	if !in.compressed {
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
	in.regular.pos = 0
	in.raw.done.Store(0)
	head, err := in.open()
	if err != nil {
		return err
	}
	missing := was - int64(len(head))
	if missing < 0 {
		return capture.FailedRead(errReplaced)
	}
	if _, err = io.CopyN(io.Discard, in, missing); err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
