package capture

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// packer is a compressor. Close completes the stream without closing what it is
// written to; Reset abandons it.
type packer interface {
	io.WriteCloser
	Reset(io.Writer)
}

// newPacker returns the compressor that the ending of name asks for, or nil.
func newPacker(name string, w io.Writer) (packer, error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".gz":
		return gzip.NewWriterLevel(w, gzip.BestSpeed)
	case ".zst":
		// Two goroutines: one searches matches while the other codes the block
		// before it.
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2))
	case ".lz4":
		return lz4.NewWriter(w), nil
	}
	return nil, nil
}
