// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"syscall"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/compressed"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

// DefaultChunkSize is about how many bytes of an input make a batch. A quarter of a mebibyte,
// and for small packets as much again for frames, digests and times, stay in a second-level
// cache of 1 MiB until the packets have been processed. With 64-byte packets from the page
// cache, chunks of 512 KiB take 2 % longer there, and chunks of 1 MiB 5 %.
const DefaultChunkSize = 256 << 10

// maxChunkSize keeps every offset into a batch below 1<<32. A batch holds a chunk, a
// partial record of the chunk before, and a block of the largest size.
const maxChunkSize = 64 << 20

// mergeBudget is how many bytes the chunks of all inputs of a Merge hold together. Their
// frames take about as much again.
const mergeBudget = 32 << 20

// MergeChunkSize returns the chunk size for this number of inputs of a Merge:
// DefaultChunkSize, or less to keep their memory at about 64 MiB.
func MergeChunkSize(inputs int) int {
	const least = 16 << 10
	return min(max(mergeBudget/max(inputs, 1)/compressed.HeadSize*compressed.HeadSize, least), DefaultChunkSize)
}

// Options configures Open and NewReader. The zero value is ready to use.
type Options struct {
	// Warn, if not nil, gets an *InputError for each damage after which reading goes on:
	// a broken option list of a packet (the packet stays, and its list ends in capture.Batch.Buf
	// where it breaks), or a pcapng block of the reserved type 0 (left out). Next calls
	// it, in a hostile file for every packet.
	Warn func(error)
	// Note, if not nil, gets a *TimesError where times of an input cannot be right. It is called as
	// Warn is.
	Note func(error)
	// ChunkSize is how many bytes one read asks for, and about how many a batch holds. 0
	// stands for DefaultChunkSize; more than 64 MiB become 64 MiB. See MergeChunkSize for
	// inputs of a Merge.
	ChunkSize int
	// Remote says that anyone may have sent the capture. It is not decompressed, and a record
	// or block of more than 16 MiB is ErrNotSupported. So the bound of memory is a usual size,
	// not the largest that the formats allow.
	Remote bool
}

// maxRemoteRecord is the largest record or block of a Remote capture in bytes.
const maxRemoteRecord = 16 << 20

// Open opens a capture by its name: a regular file, a pipe or a device. The name "-" is
// standard input, which errors call "stdin". The first bytes decide the format and the
// compression; the name does not count.
//
// Open checks the file header (pcap) or the first section header (pcapng). The error for
// damage there is an *InputError with Header set, whose reason is ErrEmpty,
// ErrUnknownFormat, ErrTruncated, ErrDamaged or ErrNotSupported. It is a *ReadError if
// reading failed, and an *fs.PathError if the name cannot be opened or is a directory.
//
// A pipe is live: a batch holds the result of one read, as soon as it is a whole record (of a
// compressed pipe, the output of one flush of its compressor). A regular file that grows is
// not followed. Reading goes on once from the end that the file had at first to the end that
// it has then. That end is mostly in the middle of a record, which is ErrTruncated. A file
// that shrinks ends with ErrTruncated, even between two records.
func Open(name string, opt Options) (capture.Source, error) {
	f, shown, closer := os.Stdin, "stdin", io.Closer(nil)
	if name != "-" {
		var err error
		if f, err = os.Open(name); err != nil {
			return nil, err
		}
		shown, closer = name, f
	}
	return openFile(f, shown, closer, opt)
}

// NewReader reads a capture from r as Open does from a file. Errors call it name. Close
// does not close r. If r is compressed, a goroutine may be in a call of r.Read when Close
// returns; it ends with that call.
func NewReader(r io.Reader, name string, opt Options) (capture.Source, error) {
	return newSource(&input{raw: counter{r: r}, plain: opt.Remote}, name, opt)
}

// openFile reads f, which it closes when it fails, if closer is not nil.
func openFile(f *os.File, name string, closer io.Closer, opt Options) (capture.Source, error) {
	in := &input{raw: counter{r: f}, file: closer}
	if err := in.measure(f, name); err != nil {
		_ = in.close() // it was only looked at
		return nil, err
	}
	return newSource(in, name, opt)
}

// measure notes the size of a regular file, and refuses a directory.
func (in *input) measure(f *os.File, name string) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.IsDir() {
		return &fs.PathError{Op: "open", Path: name, Err: syscall.EISDIR}
	}
	if !st.Mode().IsRegular() {
		outfile.WidenPipe(f)
		return nil
	}
	if st.Size() == 0 {
		return nil // or of an unknown size, as in /proc
	}
	// Standard input may have been read from already.
	pos, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	in.regular = &regularFile{f: f, size: st.Size(), pos: pos, end: st.Size()}
	if in.file != nil {
		in.path, in.info = name, st
	}
	in.raw.r = in.regular
	in.total = max(0, st.Size()-pos)
	return nil
}

// newSource recognizes the format of in, and checks its header. It closes in on failure.
func newSource(in *input, name string, opt Options) (capture.Source, error) {
	head, err := in.open()
	if err == nil {
		in.compressed = in.data != nil && in.data.Compressed()
		var r *reader
		if r, err = newReader(in, head, name, opt); err == nil {
			return r, nil
		}
	}
	// A long header may have set a decompressor to work on a goroutine.
	_ = in.close()
	return nil, capture.Locate(err, name, 0, true)
}

// newReader makes the reader for the format that head, the first bytes of in, shows.
func newReader(in *input, head []byte, name string, opt Options) (*reader, error) {
	r := &reader{name: name, in: in, partial: head, chunkSize: opt.ChunkSize, warn: opt.Warn, note: opt.Note, longest: math.MaxInt}
	if opt.Remote {
		r.longest = maxRemoteRecord
	}
	if r.chunkSize <= 0 {
		r.chunkSize = DefaultChunkSize
	}
	r.chunkSize = min(r.chunkSize, maxChunkSize)
	switch {
	case len(head) == 0:
		return nil, capture.ErrEmpty
	case len(head) < 4:
		return nil, fmt.Errorf("file header %w: %d of at least 24 bytes", capture.ErrTruncated, len(head))
	}
	if r.format = recognize(head, r.warnAt); r.format == nil {
		return nil, fmt.Errorf("%w: it begins with %s", capture.ErrUnknownFormat, describeUnknown(head))
	}
	for {
		need, err := r.format.header(r.partial)
		if err == nil && need > r.longest {
			err = r.tooLong(need)
		}
		if err != nil || need == 0 {
			return r, err
		}
		have := len(r.partial)
		if r.partial, err = readUntil(in, r.partial, need, r.chunkSize); err == io.EOF {
			return nil, fmt.Errorf("file header %w: %d of %d bytes", capture.ErrTruncated, len(r.partial), need)
		} else if err != nil {
			return nil, fmt.Errorf("file header %w: %d of %d bytes", err, have, need)
		}
	}
}

// recognize returns the reader of the format that head, 4 bytes or more,
// begins with, or nil.
func recognize(head []byte, warn func(at int, err error)) format {
	if le.Uint32(head) == capture.BlockSectionHeader {
		return newPcapNG(warn)
	}
	if p := newPcap(head); p != nil {
		return p
	}
	return nil
}

// knownForeign lists formats that users pass by mistake, by their first bytes.
var knownForeign = []struct{ magic, what string }{
	{"BZh", "bzip2 data, which has to be decompressed first"},
	{"\xfd7zXZ", "xz data, which has to be decompressed first"},
	{"7z\xbc\xaf", "a 7-Zip archive"},
	{"PK\x03\x04", "a zip archive"},
	{"snoop\x00", "a snoop capture"},
	{"GMBU", "a Microsoft Network Monitor capture"},
	{"RTSS", "a Microsoft Network Monitor capture"},
	{"\x7fELF", "a program"},
	{"\x1f\x8b", "gzip data, which is not decompressed here"},
	{"\x28\xb5\x2f\xfd", "zstd data, which is not decompressed here"},
	{"\x16\x03", "a TLS handshake, where no TLS was expected"},
	{"%PDF", "a PDF document"},
}

// describeUnknown describes an input of an unknown format.
func describeUnknown(head []byte) string {
	for _, f := range knownForeign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.what
		}
	}
	start := head[:min(len(head), 16)]
	if isText(start) {
		return fmt.Sprintf("the text %q", start)
	}
	return fmt.Sprintf("the bytes %x", start[:4])
}

func isText(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return (c < ' ' || c > '~') && c != '\n' && c != '\r' && c != '\t' })
}

// damaged returns an error that wraps ErrDamaged.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", capture.ErrDamaged, fmt.Sprintf(format, args...))
}
