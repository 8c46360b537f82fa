package capture

import (
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"github.com/klauspost/pgzip"
	"github.com/pierrec/lz4/v4"
)

// gate passes on to w what is written to it, until it is shut.
type gate struct {
	w    io.Writer
	shut atomic.Bool
}

func (g *gate) Write(p []byte) (int, error) {
	if g.shut.Load() {
		return len(p), nil
	}
	return g.w.Write(p)
}

// These bound the memory of zstd: pieces of four times the window are compressed side
// by side, and three are held for each that is. The usual window of 4 MiB makes files
// a hundredth smaller. There are always two at least: one alone makes other bytes.
const (
	zstdWindow  = 256 << 10
	zstdWorkers = 3
)

// gzipBlock is how much of a gzip stream one goroutine compresses at a time.
const gzipBlock = 256 << 10

// packs tells whether newPacker has a compressor for the ending of a name.
func packs(ending string) bool {
	switch strings.ToLower(ending) {
	case ".gz", ".zst", ".lz4":
		return true
	}
	return false
}

// newPacker returns the compressor that the ending of name asks for, or nil. Its
// Close completes the stream without closing w. It works on so many goroutines, 0 for
// as many as there are processors; what it makes does not depend on how many.
func newPacker(name string, w io.Writer, workers int) (io.WriteCloser, error) {
	workers = packWorkers(workers)
	switch strings.ToLower(filepath.Ext(name)) {
	case ".gz":
		z, err := pgzip.NewWriterLevel(w, pgzip.BestSpeed)
		if err != nil {
			return nil, err
		}
		return z, z.SetConcurrency(gzipBlock, workers)
	case ".zst":
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(zstdWindow),
			zstd.WithEncoderConcurrency(min(max(workers, 2), zstdWorkers)), zstd.WithConcurrentBlocks(true))
	case ".lz4":
		z := lz4.NewWriter(w)
		return z, z.Apply(lz4.BlockSizeOption(lz4.Block256Kb), lz4.ConcurrencyOption(workers))
	}
	return nil, nil
}

// maxPackWorkers is the most that memory is meant for.
const maxPackWorkers = 8

// packWorkers returns how many goroutines compress one stream.
func packWorkers(wanted int) int {
	if wanted <= 0 {
		wanted = runtime.GOMAXPROCS(0)
	}
	return min(wanted, maxPackWorkers)
}
