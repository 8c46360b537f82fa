// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
)

// Limits of lengths that a file states. For most link types the limit is MAXIMUM_SNAPLEN of
// libpcap, for buses and message transports the limit of Wireshark. A pcapng block may hold the
// largest frame, its header, and 128 KiB of options, as in Wireshark.
const (
	maxCapLen    = 256 << 10
	maxCapLenBig = 128 << 20
	maxBlockLen  = maxCapLenBig + 128<<10 + 32
)

// capLenCeiling returns the largest captured length of a link type. Those with
// the high ceiling are USB of FreeBSD, Linux (two layouts), Darwin and USBPcap,
// and D-Bus.
func capLenCeiling(t capture.LinkType) uint32 {
	switch t {
	case 186, 189, 220, 266, 249, 231:
		return maxCapLenBig
	}
	return maxCapLen
}

// format finds the records of one file format in a buffer.
type format interface {
	// header checks the file header at the start of head. It returns how many
	// bytes of it are needed, or 0 once it has been found sound.
	header(head []byte) (need int, err error)
	// parse appends the whole records in b.Buf to b.Frames and b.Blocks, and returns their
	// length. The next record needs need bytes, or err is its fault. ended says that b.Buf ends
	// the input.
	parse(b *capture.Batch, ended bool) (used, need int, err error)
	// truncated describes the missing part of the record at the start of remainder, which ends
	// the input.
	truncated(remainder []byte) error
	// beforeFirstPacket says whether remainder, where parsing ended for good, lies before
	// the first record that could hold a packet.
	beforeFirstPacket(remainder []byte) bool
	// tables returns the interfaces and sections seen so far.
	tables() ([]capture.Interface, []capture.Section)
}

// reader is the Source over one input.
type reader struct {
	name      string
	in        *input
	format    format
	chunkSize int
	longest   int // bytes of a record or block
	warn      func(error)
	note      func(error)
	times     times
	ended     bool // noteTimes has seen the end

	partial  []byte // the start of a record that the last batch ended within
	base     int64  // offset of partial in the stream
	nextNeed int    // bytes from base on that the next record is known to need
	readErr  error  // the error at the end of reading
	err      error  // the error of Next from now on
}

var _ capture.Preloader = (*reader)(nil)

// Next reads about one chunk; see Source.
func (r *reader) Next(b *capture.Batch) error {
	b.Reset()
	if r.err == nil {
		r.fill(b)
	}
	b.Interfaces, b.Sections = r.tables()
	r.noteTimes(b)
	if r.err != nil && len(b.Frames) == 0 && len(b.Blocks) == 0 {
		b.Reset()
		return r.err
	}
	return nil
}

// fill parses the chunk that was read for b. If none was read, fill reads until b holds a whole
// record or the input has ended.
func (r *reader) fill(b *capture.Batch) {
	c := chunkOf(b)
	reserved := c.reserved
	for {
		if !reserved {
			c.clear()
			if len(r.partial) < r.nextNeed && r.readErr == nil {
				r.load(b)
			}
		}
		if done := r.deliver(b, c); done || reserved {
			c.clear()
			return
		}
	}
}

// deliver delivers the whole records in the partial record and the chunk after it, and
// keeps the remainder. It returns false if there is no whole record and more may come.
func (r *reader) deliver(b *capture.Batch, c *chunk) bool {
	if r.readErr != nil {
		c.data = nil // it is beyond the end
	} else {
		r.readErr = c.err
	}
	known, separate := r.join(c)
	used, err := 0, error(nil)
	if ended := r.readErr != nil; ended || len(known) >= r.nextNeed {
		b.Buf = known
		used, r.nextNeed, err = r.format.parse(b, ended)
		if err == nil && r.nextNeed > r.longest {
			err = r.tooLong(r.nextNeed)
		}
	}
	b.Buf = known[:used:used]
	remainder := known[used:]
	if err == nil && used == 0 {
		err = r.atEnd(remainder)
	}
	switch {
	case err != nil:
		r.end(remainder, used, err)
	case separate && used == 0:
		r.partial = known
	default:
		r.partial = append(r.partial[:0], remainder...)
		r.base += int64(used)
	}
	return err != nil || used > 0
}

// tooLong is the error of a record or block of n bytes.
func (r *reader) tooLong(n int) error {
	return fmt.Errorf("a record of %d bytes from the network is %w: the limit is %d", n, capture.ErrNotSupported, r.longest)
}

// atEnd returns how the input ended with this remainder, nil before its end.
func (r *reader) atEnd(remainder []byte) error {
	if r.readErr == io.EOF && len(remainder) > 0 {
		return r.format.truncated(remainder)
	}
	return r.readErr
}

// end closes the input, and has Next return err after the sound records: located at
// remainder, which is used bytes after base.
func (r *reader) end(remainder []byte, used int, err error) {
	if err != io.EOF {
		err = capture.Locate(err, r.name, r.base+int64(used), r.format.beforeFirstPacket(remainder))
	}
	r.err = err
	r.partial = nil
	// Everything readable has been read, so the error of close means nothing.
	_ = r.in.close()
}

// warnAt reports damage at an offset from base, after which reading goes on.
func (r *reader) warnAt(at int, err error) {
	if r.warn != nil {
		r.warn(&capture.InputError{Input: r.name, Offset: r.base + int64(at), Err: err})
	}
}

func (r *reader) tables() ([]capture.Interface, []capture.Section) { return r.format.tables() }

// Inputs returns the name of the input.
func (r *reader) Inputs() []string { return []string{r.name} }

// Offset returns the bytes read, as stored, and the size of a regular file.
func (r *reader) Offset() (done, total int64) { return r.in.offset() }

// Size is as Source says: unknown for pipes and compressed files.
func (r *reader) Size() int64 {
	if r.in.compressed {
		return 0
	}
	return r.in.total
}

// Close closes the file. It must not be called during Next, which returns
// os.ErrClosed afterwards unless the input had ended.
func (r *reader) Close() error {
	if r.err == nil {
		r.err = os.ErrClosed
	}
	return r.in.close()
}

// chunk is the state that a reader keeps with a batch: the memory below Batch.Buf, and the
// range of the input that was reserved or read for the batch.
type chunk struct {
	memory   []byte
	reserved bool
	off      int64 // in a regular file
	want     int   // bytes, 0 at the end
	data     []byte
	err      error // the error with or after data
}

// chunkOf returns the chunk of b, which b gets here if the last Source had none.
func chunkOf(b *capture.Batch) *chunk {
	c, ok := b.SourceState.(*chunk)
	if !ok {
		c = &chunk{}
		b.SourceState = c
	}
	return c
}

// clear forgets all but the memory.
func (c *chunk) clear() { *c = chunk{memory: c.memory} }

// maxPrefix is the largest partial record that fits into a chunk, before the bytes that are
// read. Longer records are assembled elsewhere.
const maxPrefix = 64 << 10

// prefixSize is the room for a partial record in chunks of the given size. It is whole
// pages, so chunks are read to the start of a page.
func prefixSize(chunkSize int) int {
	const page = 4096
	return min(max(chunkSize/8/page, 1)*page, maxPrefix)
}

// space returns the memory of c to read into, after the prefix.
func (r *reader) space(c *chunk) []byte {
	prefix := prefixSize(r.chunkSize)
	if len(c.memory) < prefix+r.chunkSize {
		c.memory = make([]byte, prefix+r.chunkSize)
	}
	return c.memory[prefix : prefix+r.chunkSize : prefix+r.chunkSize]
}

// Reserve implements Preloader.
func (r *reader) Reserve(b *capture.Batch) {
	c := chunkOf(b)
	c.clear()
	if r.in.regular == nil || r.in.compressed {
		return
	}
	c.reserved = true
	if c.err = r.in.wake(); c.err == nil {
		c.off, c.want, c.err = r.in.regular.reserve(r.chunkSize)
	}
}

// ReadReserved implements Preloader.
func (r *reader) ReadReserved(b *capture.Batch) {
	c := chunkOf(b)
	if !c.reserved || c.err != nil {
		return
	}
	var n int
	data := r.space(c)[:c.want]
	n, c.err = r.in.regular.load(data, c.off)
	c.data = data[:n]
	r.in.raw.done.Add(int64(n))
}

// load reads the next chunk of the input into b.
func (r *reader) load(b *capture.Batch) {
	r.Reserve(b)
	c := chunkOf(b)
	if c.reserved {
		r.ReadReserved(b)
		return
	}
	c.data, c.err = readUntil(r.in, r.space(c)[:0], 1, r.chunkSize)
}

// join returns all bytes from base on: the partial record, and the chunk. They are separate
// from the chunk's memory if the partial record is long: appending to a long record does
// not copy it for each of its chunks.
func (r *reader) join(c *chunk) (known []byte, separate bool) {
	prefix := prefixSize(r.chunkSize)
	if len(r.partial) > prefix {
		known, r.partial = append(r.partial, c.data...), nil
		return known, true
	}
	r.space(c)
	start := prefix - len(r.partial)
	copy(c.memory[start:], r.partial)
	return c.memory[start : prefix+len(c.data)], false
}

// walk appends to b.Frames the frames that describe finds in b.Buf from pos on, and returns
// where they end. describe writes to no more frames than it is given, and returns how many it
// wrote and where the last of them ends.
func walk(b *capture.Batch, pos int, describe func(frames []capture.Frame, buf []byte, pos uint32) (found int, end uint32)) int {
	const least = 1024
	for more := least; ; {
		b.Frames = slices.Grow(b.Frames, more)
		room := b.Frames[len(b.Frames):cap(b.Frames)]
		found, end := describe(room, b.Buf, uint32(pos))
		b.Frames = b.Frames[:len(b.Frames)+found]
		pos = int(end)
		if found < len(room) {
			return pos
		}
		// The rest most likely has records as dense as the part that was read.
		more = max(int(int64(len(b.Frames))*int64(len(b.Buf)-pos)/int64(pos)), least)
	}
}
