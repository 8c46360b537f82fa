// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/records"
)

// Config says how text is read. The zero value finds out.
type Config struct {
	// Format is the name of a preset: see Formats. If empty, the first record decides.
	Format string
	// Mapping takes the place of a preset, if it is not empty.
	Mapping Mapping
	// Times is how times are written, if it is not empty.
	Times TimeLayout
	// Input is the number of the input, for points without an exporter.
	Input uint32
}

// Reader reads flow records from text. It implements records.Reader. One goroutine at a
// time may use it.
type Reader struct {
	r      io.Reader
	name   string
	config Config
	format *format
	json   bool
	array  bool // objects are found by their ends, and not by lines
	columns
	marks
	zeek
	header string // of lines of fields
	counts records.Counts

	buf  []byte // bytes read; from at on not yet taken
	at   int
	done int64 // bytes before buf
	skip bool  // the rest of a record that is too long
	slow bool  // fields are found byte by byte, in a test
	scan scan  // of an object of an array
	over bool  // the rest is a summary
	err  error

	object object
	shapes shapes
	rec    *records.Record
	values values
	times  times
	unread unreadValues
	// Texts for no value, in addition to empty text.
	unset, empty string
}

var _ records.Reader = (*Reader)(nil)

const (
	// maxRecord is the length of the longest record.
	maxRecord = 1 << 20
	// readSize is how much is read at once.
	readSize = 128 << 10
	// A batch holds few records: batches of several inputs alternate.
	batchRecords = 64
	batchBytes   = 64 << 10
)

// ErrFormat is wrapped by errors about text that no preset fits.
var ErrFormat = errors.New("not a known format of flow records")

// NewReader returns a reader of r. It reads the first record, or the header of lines of
// fields. Errors name the input: a *capture.InputError wraps ErrFormat, ErrOrder or a reason
// of package capture, a *capture.ReadError the other errors of r.
func NewReader(r io.Reader, name string, config Config) (*Reader, error) {
	t := &Reader{r: r, name: name, config: config, times: times{layout: config.Times}, unset: "-"}
	t.object.take = t.takeValue
	if err := t.begin(); err != nil {
		return nil, capture.Locate(err, name, 0, true)
	}
	return t, nil
}

// begin detects the format of the text.
func (r *Reader) begin() error {
	if err := r.preset(); err != nil {
		return err
	}
	first, err := r.first()
	if err != nil {
		return err
	}
	switch first[0] {
	case '{', '[':
		r.json = true
		err = r.beginJSON(first)
	case '#':
		err = r.beginZeek()
	default:
		err = r.beginFields(first)
	}
	if err != nil {
		return err
	}
	r.setOdd()
	r.shapes.names, r.shapes.most = r.format.names, mostText
	return r.findOrder()
}

// beginFields detects the fields of lines.
func (r *Reader) beginFields(header []byte) error {
	r.separator = separatorOf(header)
	names := r.namesOf(header)
	if r.format == nil {
		r.format = formatOf(names)
	}
	if r.format == nil || !r.format.fits(names) {
		return fmt.Errorf("%w: it begins with %.80q", ErrFormat, header)
	}
	r.setColumns(names)
	r.header = string(header)
	if n := r.lineEnd(); n > 0 {
		r.at += n
	} else {
		r.at = len(r.buf) // only a header
	}
	return nil
}

// preset finds the format that was asked for.
func (r *Reader) preset() error {
	if len(r.config.Mapping.names) > 0 {
		r.format = &format{name: "map", names: r.config.Mapping.names}
		return nil
	}
	if r.config.Format == "" {
		return nil
	}
	i := slices.IndexFunc(formats, func(f *format) bool { return f.name == r.config.Format })
	if i < 0 {
		return fmt.Errorf("%w: %q is none of %s", ErrFormat, r.config.Format, strings.Join(Formats(), ", "))
	}
	r.format = formats[i]
	return nil
}

// byteOrderMark begins the text of some programs.
const byteOrderMark = "\ufeff"

// first returns the first line that is not empty, without spaces around it. Of an array it
// returns the bytes so far, as the array may have no line breaks.
func (r *Reader) first() ([]byte, error) {
	for {
		for r.at < len(r.buf) && isSpace(r.buf[r.at]) {
			r.at++
		}
		if r.done == 0 && bytes.HasPrefix(r.buf[r.at:], []byte(byteOrderMark)) {
			r.at += len(byteOrderMark)
			continue
		}
		if r.at < len(r.buf) && r.buf[r.at] == '[' {
			return r.buf[r.at:], nil
		}
		if n := r.lineEnd(); n > 0 {
			return trim(r.buf[r.at : r.at+n]), nil
		}
		switch err := r.fill(); {
		case err == io.EOF && r.at == len(r.buf):
			return nil, capture.ErrEmpty
		case err == io.EOF:
			return trim(r.buf[r.at:]), nil
		case err != nil:
			return nil, err
		case len(r.buf)-r.at > maxRecord:
			return nil, fmt.Errorf("%w: its first line has more than 1 MiB", ErrFormat)
		}
	}
}

// beginJSON detects how objects follow each other, and their names.
func (r *Reader) beginJSON(first []byte) error {
	var names []string
	probe := object{take: func(_, _ []byte) {}}
	r.array = first[0] == '[' || !probe.read(first)
	if r.array {
		if first[0] == '[' {
			r.at++
		}
		one, err := r.firstObject()
		if err != nil {
			return err
		}
		if one == nil {
			r.format = &format{} // an array without records
			return nil
		}
	}
	if r.format == nil {
		r.format, names = r.firstOf()
	}
	if r.format == nil {
		return fmt.Errorf("%w: its first record has the names %.200s; --map says what they mean", ErrFormat, strings.Join(names, ", "))
	}
	return nil
}

// firstObject returns the first object of an array, nil if there is none.
func (r *Reader) firstObject() ([]byte, error) {
	for {
		r.between()
		if r.at < len(r.buf) && r.buf[r.at] != '{' {
			return nil, nil
		}
		var s scan
		if n := s.end(r.buf[r.at:]); n > 0 {
			return r.buf[r.at : r.at+n], nil
		}
		switch err := r.fill(); {
		case err == io.EOF && r.at == len(r.buf):
			return nil, nil
		case err == io.EOF:
			return nil, fmt.Errorf("%w: its first record has no end", capture.ErrTruncated)
		case err != nil:
			return nil, err
		case len(r.buf)-r.at > maxRecord:
			return nil, fmt.Errorf("%w: its first record has more than 1 MiB", ErrFormat)
		}
	}
}

// between skips the bytes between the objects of an array.
func (r *Reader) between() {
	for r.at < len(r.buf) && (isSpace(r.buf[r.at]) || r.buf[r.at] == ',' || r.buf[r.at] == ']') {
		r.at++
	}
}

// lineEnd returns the length of the line at r.at with its end, 0 if that is not there yet.
func (r *Reader) lineEnd() int {
	return bytes.IndexByte(r.buf[r.at:], '\n') + 1
}

// fill reads on. It moves the bytes not yet taken to the front.
func (r *Reader) fill() error {
	if r.err != nil {
		return r.err
	}
	r.done += int64(r.at)
	r.buf = slices.Grow(append(r.buf[:0], r.buf[r.at:]...), readSize)
	r.at = 0
	n, err := r.r.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	if r.err = capture.FailedRead(err); n > 0 {
		return nil // the error comes next time
	}
	return r.err
}

// Both reports whether a record covers both directions of a conversation. Elsewhere, the same
// conversation may have its ends the other way round.
func (r *Reader) Both() bool { return r.format.both }

// Counts returns the counts so far. A message is a record of text.
func (r *Reader) Counts() records.Counts { return r.counts }
