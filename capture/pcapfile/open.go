package pcapfile

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

// DefaultChunkSize is how many bytes are asked of an input at once. Half a
// mebibyte and the frames that describe it (a few hundred kibibytes for small
// packets) stay in a 1 to 2 MiB second-level cache until the packets have been
// looked at. Reading 64-byte packets from the page cache, chunks of 64 KiB cost
// a fifth for their system calls, and chunks of 4 MiB gain a thirtieth.
const DefaultChunkSize = 512 << 10

// maxChunkSize keeps every offset into a batch below 1<<32: a chunk, what was
// carried over from the one before, and a block of the largest size.
const maxChunkSize = 64 << 20

// mergeBudget is how many bytes the chunks of all inputs of a Merge hold together. With
// the frames that describe them it is about twice that.
const mergeBudget = 32 << 20

// MergeChunkSize returns the chunk size for inputs that are merged: DefaultChunkSize, or
// less where that keeps the memory of all of them at some 64 MiB.
func MergeChunkSize(inputs int) int {
	const least = 16 << 10
	return min(max(mergeBudget/max(inputs, 1)/headSize*headSize, least), DefaultChunkSize)
}

// headSize is how much is read of an input to recognise it. Later reads of a
// file start at a page boundary.
const headSize = 4096

// Options configures Open and NewReader. The zero value is ready to use.
type Options struct {
	// Warn, if not nil, is told of damage that reading survives, each time as
	// an *InputError: a broken option list of a packet (the packet is kept, its
	// list ended in Batch.Buf where it breaks) and a pcapng block of the
	// reserved type 0 (left out). It is called from within Next, once for each
	// such place, which in a hostile file may be each packet.
	Warn func(error)
	// ChunkSize is how many bytes are read at once, 0 for DefaultChunkSize. A
	// batch holds about as much. It is cut at 64 MiB. Many inputs that are merged
	// need less: see MergeChunkSize.
	ChunkSize int
}

// Open opens the capture of the given name, or standard input (shown as
// "stdin") if the name is "-". Regular files, pipes and devices will do. What
// the content is, compressed or not, is told from its first bytes, never from
// its name.
//
// The file header (pcap) or the first section header (pcapng) has been checked
// when Open returns. If it is not sound the error is an *InputError with Header
// set, whose reason is ErrEmpty, ErrUnknownFormat, ErrTruncated, ErrDamaged or
// ErrNotSupported; if it could not be read, a *ReadError. If the name cannot be opened,
// or is that of a directory, the error is an *fs.PathError.
//
// A pipe is delivered as it comes: a batch holds what one read returned as soon
// as that is a whole record (if it is compressed, what its compressor put out
// at once). A regular file that grows while it is read is not followed: when the end that
// it had at first is reached, reading goes on to the end that it has then, most likely in
// the middle of a record, which is ErrTruncated. A file that shrinks while it is read ends
// with ErrTruncated, even between two records.
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

// NewReader reads a capture from r as Open does from a file; name stands for
// it in errors. Close does not close r. If r is compressed a goroutine may read
// from it after Close, until the call of r.Read that it is in returns.
func NewReader(r io.Reader, name string, opt Options) (capture.Source, error) {
	return newSource(&input{raw: counter{r: r}}, name, opt)
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
		return nil // or of a size that nobody knows, as in /proc
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

// newSource recognises what in holds and checks its header. It closes in when
// it fails.
func newSource(in *input, name string, opt Options) (capture.Source, error) {
	head, err := in.open()
	if err == nil {
		var r *reader
		if r, err = newReader(in, head, name, opt); err == nil {
			return r, nil
		}
	}
	// A long header may have set a decompressor to work on a goroutine.
	_ = in.close()
	return nil, located(err, name, 0, true)
}

// newReader makes the reader for the format that head, the first bytes of in,
// tells of.
func newReader(in *input, head []byte, name string, opt Options) (*reader, error) {
	r := &reader{name: name, in: in, partial: head, chunkSize: opt.ChunkSize, warn: opt.Warn}
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
	if r.format = recognise(head, r.warnAt); r.format == nil {
		return nil, fmt.Errorf("%w: it begins with %s", capture.ErrUnknownFormat, describeUnknown(head))
	}
	for {
		need, err := r.format.header(r.partial)
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

// recognise returns the reader of the format that head, 4 bytes or more,
// begins with, or nil.
func recognise(head []byte, warn func(at int, err error)) format {
	if le.Uint32(head) == capture.BlockSectionHeader {
		return newPcapNG(warn)
	}
	if p := newPcap(head); p != nil {
		return p
	}
	return nil
}

// knownForeign lists what people hand over by mistake, by its first bytes.
var knownForeign = []struct{ magic, what string }{
	{"BZh", "bzip2 data, which has to be decompressed first"},
	{"\xfd7zXZ", "xz data, which has to be decompressed first"},
	{"7z\xbc\xaf", "a 7-Zip archive"},
	{"PK\x03\x04", "a zip archive"},
	{"snoop\x00", "a snoop capture"},
	{"GMBU", "a Microsoft Network Monitor capture"},
	{"RTSS", "a Microsoft Network Monitor capture"},
	{"\x7fELF", "a program"},
	{"%PDF", "a PDF document"},
}

// describeUnknown says what an input of an unknown format looks like.
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
	for _, c := range b {
		if (c < ' ' || c > '~') && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
	}
	return true
}
