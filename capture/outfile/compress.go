// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"bufio"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/klauspost/pgzip"
	"github.com/pierrec/lz4/v4"
)

// compressor is a stage that compresses. Flush makes all written bytes readable. Close ends the
// stream without closing the writer below.
type compressor interface {
	io.WriteCloser
	Flush() error
}

// These bound the memory of zstd. It compresses blocks of four times the window in parallel,
// and holds three for each. The default window of 4 MiB makes files a hundredth smaller. There
// are at least two workers: a single worker makes other bytes.
const (
	zstdWindow  = 256 << 10
	zstdWorkers = 3
)

// gzipBlock is how many bytes of a gzip stream a goroutine compresses at a time.
const gzipBlock = 256 << 10

// maxWorkers is the most compressing goroutines that memory is meant for.
const maxWorkers = 8

// Compresses reports whether the ending of a name asks for a compression, in upper or
// lower case.
func Compresses(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".gz", ".zst", ".lz4":
		return true
	}
	return false
}

// newCompressor returns the compressor for the ending of name, or nil. It uses workers
// goroutines; the default is the number of processors. The output does not depend on that.
func newCompressor(name string, w io.Writer, workers int) (compressor, error) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, maxWorkers)
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
		// The algorithm of the C library takes two thirds of the time of the default, and its files
		// are smaller. In blocks of 64 KiB, positions have 16 bits, and its table fits L1.
		z := lz4.NewWriter(w)
		return z, z.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.CompressionLevelOption(lz4.CCompatFast), lz4.ConcurrencyOption(workers))
	}
	return nil, nil
}

// CompressAs compresses an output of [Options.Plain], before its first Write, as [Create] does files
// whose names have this ending. An ending without a compression does nothing.
func (f *File) CompressAs(ending string) { f.ending, f.parked = ending, true }

// Park frees the memory of compression until the next Write, which begins a new member of the
// file. Readers put members together.
func (f *File) Park() error {
	if f.compress == nil {
		return f.failed
	}
	err := f.finish()
	f.tail, f.parked = nil, true
	return err
}

// addStages puts a compressor before the open file if its ending asks for compression. If that
// fails, the output is discarded.
func (f *File) addStages() error {
	name := f.name
	if f.opt.Plain {
		name = f.ending
	}
	const tailSize = 256 << 10
	tail := bufio.NewWriterSize(fileWriter{f}, tailSize)
	pack, err := newCompressor(name, tail, f.opt.Workers)
	if err != nil {
		return errors.Join(f.named("create", err), f.Discard())
	}
	if pack != nil {
		f.compress, f.tail = pack, tail
	}
	return nil
}
