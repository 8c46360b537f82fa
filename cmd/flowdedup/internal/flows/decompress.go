package flows

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

const (
	// peeked is how many bytes tell the format of an input.
	peeked = 16
	// maxZstdWindow bounds the memory of a decoder: zstd --long makes it by default.
	maxZstdWindow = 128 << 20
)

// peek returns a reader of what r has, decompressed, and its first bytes.
func peek(r io.Reader) (*bufio.Reader, []byte, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	head, err := in.Peek(peeked)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	var plain io.Reader
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		plain, err = gzip.NewReader(in)
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		plain, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
	case bytes.HasPrefix(head, []byte("\x04\x22\x4d\x18")):
		plain, err = lz4.NewReader(in), nil
	default:
		return in, head, nil
	}
	if err != nil {
		return nil, nil, err
	}
	in = bufio.NewReaderSize(plain, 64<<10)
	if head, err = in.Peek(peeked); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	return in, head, nil
}
