package pcapfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/flowdedup/flowdedup/capture"
)

// maxLayers is how many compressions may be nested: captures are compressed where they
// are taken, and some again where they are stored.
const maxLayers = 2

// maxWindow is the largest zstd window that is accepted. zstd --long makes it by default,
// and zstd -d takes it without a flag. It bounds the memory of a decoder.
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
		// One block at a time, on our own goroutine. A decoder that is more than one
		// block ahead holds more memory and takes a fifth more processor time. And Close
		// need not wait for it while it waits for a pipe.
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

// gzipMembers reads consecutive gzip members as one stream. Zeros after the last member
// are padding: tapes and fixed block sizes leave it, and gzip -t accepts it.
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

// nextMember reads the header of the next member. It returns io.EOF at the end, and after
// padding up to the end.
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

// A decompressor may be aheadChunks chunks ahead of its reader: 1 MiB in all keeps both
// busy.
const (
	aheadChunks    = 4
	aheadChunkSize = 256 << 10
)

// readAhead reads a stream on a goroutine. The goroutine ends with the stream, or when stop
// is closed and its current read returns.
type readAhead struct {
	filled chan readResult
	free   chan []byte
	stop   chan struct{}
	done   chan struct{}

	current readResult // what Read hands out, from off on
	off     int
}

type readResult struct {
	buf []byte
	err error // what came with or after buf
}

// startReadAhead reads r on a goroutine that calls end when it is done.
func startReadAhead(r io.Reader, end func()) *readAhead {
	a := &readAhead{
		filled: make(chan readResult, aheadChunks),
		free:   make(chan []byte, aheadChunks),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	for range aheadChunks {
		a.free <- nil // allocated when needed
	}
	go func() {
		defer close(a.done)
		defer end()
		a.run(r)
	}()
	return a
}

func (a *readAhead) run(r io.Reader) {
	for {
		var buf []byte
		select {
		case <-a.stop:
			return
		case buf = <-a.free:
		}
		if buf == nil {
			buf = make([]byte, aheadChunkSize)
		}
		n, err := r.Read(buf[:aheadChunkSize])
		select {
		case <-a.stop:
			return
		case a.filled <- readResult{buf[:n], err}:
		}
		if err != nil {
			return
		}
	}
}

// Read waits for the next chunk only if it has nothing for p yet.
func (a *readAhead) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if a.off < len(a.current.buf) {
			m := copy(p[n:], a.current.buf[a.off:])
			a.off += m
			n += m
			continue
		}
		if a.current.err != nil {
			if n > 0 {
				return n, nil
			}
			return 0, a.current.err
		}
		if !a.next(n == 0) {
			break
		}
	}
	return n, nil
}

// next makes the next chunk current, after a wait for it if wait is set, and reports
// whether there is one.
func (a *readAhead) next(wait bool) bool {
	var p readResult
	if wait {
		select {
		case p = <-a.filled:
		case <-a.stop:
			p.err = os.ErrClosed
		}
	} else {
		select {
		case p = <-a.filled:
		default:
			return false
		}
	}
	if a.current.buf != nil {
		a.free <- a.current.buf
	}
	a.current, a.off = p, 0
	return true
}
