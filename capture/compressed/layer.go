// SPDX-License-Identifier: Apache-2.0

package compressed

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/flowdedup/flowdedup/capture"
)

// maxWindow is the largest zstd window that is accepted. zstd --long makes it by default,
// and zstd -d takes it without a flag. It bounds the memory of a decoder.
const maxWindow = 128 << 20

// bufferSize is how much compressed data is read at once.
const bufferSize = 128 << 10

// layer is a decompressor. Its errors wrap capture.ErrTruncated or capture.ErrDamaged and
// name the compression. Errors of the stream below it stay as they are.
type layer struct {
	name  string
	r     io.Reader
	close func()
}

func (l *layer) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	return n, l.wrapError(err)
}

func (l *layer) wrapError(err error) error {
	switch {
	case err == nil || err == io.EOF:
		return err
	case capture.FailedRead(err) == err:
		return err // the stream's own, or of the layer below
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s data %w", l.name, capture.ErrTruncated)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("%s data with a window above %d MiB: %w", l.name, maxWindow>>20, capture.ErrNotSupported)
	}
	return fmt.Errorf("%s data %w: %s", l.name, capture.ErrDamaged, strings.TrimPrefix(err.Error(), l.name+": "))
}

// compression returns the name of the compression whose data head begins with,
// "skip" for a skippable frame, as zstd and lz4 share it, or "".
func compression(head []byte) string {
	switch {
	case len(head) < 4:
		return ""
	case head[0] == 0x1f && head[1] == 0x8b: // RFC 1952, section 2.3.1
		return "gzip"
	}
	switch magic := binary.LittleEndian.Uint32(head); {
	case magic == 0xFD2FB528: // RFC 8878, section 3.1.1
		return "zstd"
	case magic == 0x184D2204, magic == 0x184C2102: // lz4 frame format, and legacy format
		return "lz4"
	case magic&^15 == 0x184D2A50: // RFC 8878, section 3.1.2
		return "skip"
	}
	return ""
}

// Ending returns the ending of names for the compression that the first bytes of a file show, such
// as ".gz"; "" for none.
func Ending(head []byte) string {
	switch compression(head) {
	case "gzip":
		return ".gz"
	case "lz4":
		return ".lz4"
	case "":
		return ""
	}
	return ".zst"
}

// newLayer opens the decompressor for the beginning of r.
func newLayer(r io.Reader) (*layer, error) {
	l := &layer{close: func() {}}
	br := bufio.NewReaderSize(r, bufferSize)
	var err error
	if l.name, err = skipFrames(br); err == nil {
		err = l.open(br)
	}
	if err != nil {
		return nil, l.wrapError(noEOF(err))
	}
	return l, nil
}

func (l *layer) open(br *bufio.Reader) error {
	switch l.name {
	case "gzip":
		// A bad header shows when it is read.
		members, err := newGzipMembers(br)
		l.r = members
		return err
	case "zstd":
		// A block at a time, on our own goroutine. A decoder that is further ahead holds more
		// memory and takes a fifth more processor time. And Close need not wait for it while it
		// waits for a pipe.
		zr, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return err
		}
		l.r, l.close = zr, zr.Close
		return nil
	case "lz4":
		// On our own goroutine too. On more, it would be faster than what follows it, and
		// hold twice the memory.
		l.r = lz4.NewReader(br)
		return nil
	}
	return fmt.Errorf("%w: nothing compressed after skippable frames", capture.ErrUnknownFormat)
}

// skipFrames reads past leading skippable frames and returns the compression of the rest.
func skipFrames(br *bufio.Reader) (string, error) {
	for {
		magic, err := br.Peek(4)
		if err != nil && err != io.EOF {
			return "", err
		}
		name := compression(magic)
		if name != "skip" {
			return name, nil
		}
		frame, err := br.Peek(8)
		if err != nil {
			return "zstd", err
		}
		size := 8 + int64(binary.LittleEndian.Uint32(frame[4:]))
		if n, err := io.CopyN(io.Discard, br, size); n < size {
			return "zstd", err
		}
	}
}

// noEOF turns the end of a stream that must not end yet into an error.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
