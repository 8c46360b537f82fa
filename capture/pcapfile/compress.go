package pcapfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/flowdedup/flowdedup/capture"
)

// maxLayers is how many compressions may lie over each other: a capture that
// was compressed where it was taken and again where it was stored.
const maxLayers = 2

// maxWindow is the largest zstd window that is accepted: what zstd --long
// makes by default and its decoder takes without being asked. It bounds the
// memory of a decoder.
const maxWindow = 128 << 20

// compressedBuffer is how much compressed data is read at once.
const compressedBuffer = 128 << 10

// layer is one decompressor. Its errors wrap ErrTruncated or ErrDamaged and
// name the compression, unless they are those of the stream below it.
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
	var failed *readFailure
	switch {
	case err == nil || err == io.EOF:
		return err
	case errors.As(err, &failed), errors.Is(err, capture.ErrTruncated),
		errors.Is(err, capture.ErrDamaged), errors.Is(err, capture.ErrUnknownFormat):
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
	switch magic := le.Uint32(head); {
	case magic == 0xFD2FB528: // RFC 8878, section 3.1.1
		return "zstd"
	case magic == 0x184D2204, magic == 0x184C2102: // lz4 frame format, and the legacy one
		return "lz4"
	case magic&^15 == 0x184D2A50: // RFC 8878, section 3.1.2
		return "skip"
	}
	return ""
}

// decompress opens one more layer over in if head, the bytes read last, begins
// compressed data.
func (in *input) decompress(head []byte) (bool, error) {
	name := compression(head)
	if name == "" {
		return false, nil
	}
	if len(in.layers) == maxLayers {
		return false, fmt.Errorf("%w: compressed more than %d times", capture.ErrUnknownFormat, maxLayers)
	}
	l := layer{close: func() {}}
	below := io.Reader(&in.raw)
	if n := len(in.layers); n > 0 {
		top := in.layers[n-1] // a copy, for in.layers may move
		below = &top
	}
	br := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(head), below), compressedBuffer)
	var err error
	if l.name, err = skipFrames(br); err == nil {
		err = l.open(br)
	}
	if err != nil {
		return false, l.wrapError(noEOF(err))
	}
	in.layers = append(in.layers, l)
	return true, nil
}

func (l *layer) open(br *bufio.Reader) error {
	switch l.name {
	case "gzip":
		// What is wrong with a header shows when it is read.
		members, err := newGzipMembers(br)
		l.r = members
		return err
	case "zstd":
		// One block at a time, on our own goroutine: a decoder that is more
		// than one block ahead holds more memory and takes a fifth more time of
		// the processors, and nothing of it is lost when Close finds it waiting
		// for a pipe.
		zr, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return err
		}
		l.r, l.close = zr, zr.Close
		return nil
	case "lz4":
		// On our own goroutine too: on more of them it is faster than what comes
		// behind it, and holds twice the memory.
		l.r = lz4.NewReader(br)
		return nil
	}
	return fmt.Errorf("%w: nothing compressed after skippable frames", capture.ErrUnknownFormat)
}

// skipFrames reads past leading skippable frames and returns the compression
// of what follows.
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
		size := 8 + int64(le.Uint32(frame[4:]))
		if n, err := io.CopyN(io.Discard, br, size); n < size {
			return "zstd", err
		}
	}
}

// gzipMembers reads gzip members one behind the other as one stream. Zeros behind the
// last of them belong to no member: tapes and fixed block sizes pad files so, and
// gzip -t finds nothing wrong with it.
type gzipMembers struct {
	br *bufio.Reader
	zr *gzip.Reader
}

// newGzipMembers reads the header of the first member.
func newGzipMembers(br *bufio.Reader) (*gzipMembers, error) {
	zr, err := gzip.NewReader(br)
	if err != nil {
		return nil, err
	}
	zr.Multistream(false)
	return &gzipMembers{br: br, zr: zr}, nil
}

func (g *gzipMembers) Read(p []byte) (int, error) {
	for {
		n, err := g.zr.Read(p)
		if n > 0 && err == io.EOF {
			return n, nil
		}
		if err != io.EOF {
			return n, err
		}
		if err := g.nextMember(); err != nil {
			return 0, err
		}
	}
}

// nextMember reads the header of the next member, or returns io.EOF at the end and
// behind padding that reaches there.
func (g *gzipMembers) nextMember() error {
	first, err := g.br.Peek(1)
	if err != nil {
		return err
	}
	if first[0] == 0 {
		return g.skipPadding()
	}
	if err := g.zr.Reset(g.br); err != nil {
		return noEOF(err)
	}
	g.zr.Multistream(false)
	return nil
}

// skipPadding reads zeros to the end, which it returns as io.EOF.
func (g *gzipMembers) skipPadding() error {
	for {
		c, err := g.br.ReadByte()
		if err != nil {
			return err
		}
		if c != 0 {
			return fmt.Errorf("%w: %#x behind zero padding", gzip.ErrHeader, c)
		}
	}
}
