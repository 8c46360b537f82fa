// SPDX-License-Identifier: Apache-2.0

package countfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/distinct/internal/wordset"
)

// ErrInvalid is wrapped by errors about the content of files.
var ErrInvalid = errors.New("not a complete file of counts")

const (
	recordHead = 5 // bytes of a record before its content
	recordTail = 4 // bytes of a record after its content
	// maxText bounds the content of records of JSON, and maxParts the windows and series
	// of a file, so that a hostile file takes bounded memory: 64 MB.
	maxText  = 64 << 10
	maxParts = 1 << 19
	maxName  = 256
)

// limits are the longest contents by kind of record.
var limits = map[byte]int{
	recordHeader: maxText, recordWindow: maxName, recordSeries: maxText,
	recordBlock: wordset.MaxBytes, recordRegisters: distinct.SketchSize, recordEnd: 0,
}

// File is a file whose windows can be merged.
type File struct {
	Header
	Name    string
	Windows []Window

	from io.ReaderAt
	size int64
}

// Window is a window of a file.
type Window struct {
	Span
	Series []Series
}

// Series is a window's part of one key and family.
type Series struct {
	Key, Family string
	Packets     uint64
	Bytes       int64 // its size in the file

	file   *File
	offset int64 // of the first record of its contents
	sketch bool
	width  uint
	count  uint64
}

// Open finds the windows of a file, given its size. It reads each record's
// head, and takes memory for windows and series, at most 64 MB. Merging checks the rest
// of the file. Errors wrap ErrInvalid, or are read errors of from.
func Open(name string, from io.ReaderAt, size int64) (*File, error) {
	f := &File{Name: name, from: from, size: size}
	first := make([]byte, len(magic))
	if err := f.read(first, 0, 0); err != nil {
		return nil, err
	}
	if string(first) != magic {
		return nil, f.invalid(0, "it does not begin as one of this version")
	}
	at, parts := int64(len(magic)), 0
	for first := true; ; first = false {
		kind, length, err := f.head(at)
		if err != nil {
			return nil, err
		}
		if (kind == recordHeader) != first {
			return nil, f.invalid(at, "its header is missing, or not the first record")
		}
		next := at + recordHead + int64(length) + recordTail
		switch kind {
		case recordBlock, recordRegisters:
			err = f.part(kind, at, next)
		case recordEnd:
			if _, err = f.content(nil, at); err == nil && next != size {
				err = f.invalid(next, "bytes behind the end")
			}
			if err == nil {
				err = f.complete(at)
			}
			return f, err
		default:
			if parts++; parts > maxParts {
				return nil, f.invalid(at, "more windows and series than %d", maxParts)
			}
			err = f.text(kind, at)
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
}

// last returns the series that was read last, or nil.
func (f *File) last() *Series {
	if len(f.Windows) == 0 {
		return nil
	}
	w := &f.Windows[len(f.Windows)-1]
	if len(w.Series) == 0 {
		return nil
	}
	return &w.Series[len(w.Series)-1]
}

// part records a record of the contents of a series.
func (f *File) part(kind byte, at, next int64) error {
	s := f.last()
	if s == nil || s.sketch != (kind == recordRegisters) || s.sketch && s.Bytes > 0 {
		return f.invalid(at, "contents that belong to no series")
	}
	if s.Bytes == 0 {
		s.offset = at
	}
	s.Bytes += next - at
	return nil
}

// complete checks the series that was read last: a set without words has no block, any
// other has contents.
func (f *File) complete(at int64) error {
	if s := f.last(); s != nil && (s.sketch || s.count > 0) != (s.Bytes > 0) {
		return f.invalid(at, "a series without its contents")
	}
	return nil
}

// text reads a record of JSON.
func (f *File) text(kind byte, at int64) error {
	content, err := f.content(nil, at)
	if err != nil {
		return err
	}
	if err := f.complete(at); err != nil {
		return err
	}
	switch kind {
	case recordHeader:
		if err = unmarshal(content, &f.Header); err == nil {
			err = f.checkHeader()
		}
		if f.Sensor == "" {
			base := filepath.Base(f.Name)
			f.Sensor = strings.TrimSuffix(base, filepath.Ext(base))
		}
	case recordWindow:
		var w windowRecord
		if err = unmarshal(content, &w); err == nil && w.End < w.Start {
			err = errors.New("a window that ends before it starts")
		}
		f.Windows = append(f.Windows, Window{Span: w.span()})
	case recordSeries:
		err = f.series(content)
	}
	if err != nil {
		return f.invalid(at, "%v", err)
	}
	return nil
}

// checkHeader checks the texts of the header that are shown to users.
func (f *File) checkHeader() error {
	if len(f.Sensor) > maxName {
		return errors.New("a name of a sensor that is too long")
	}
	texts := []string{f.Sensor}
	for _, one := range f.Settings {
		texts = append(texts, one.Name, one.Value)
	}
	if !printable(texts...) {
		return errUnprintable
	}
	return nil
}

// errUnprintable is the error of a name with characters that control a terminal.
var errUnprintable = errors.New("a name with control characters")

// printable reports whether texts from outside are harmless to a terminal.
func printable(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool {
		return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
	})
}

// counts reports whether the settings list a key as counted. Without such a list every key
// is.
func (h *Header) counts(key string) bool {
	for _, one := range h.Settings {
		if one.Name == OfSetting {
			return slices.Contains(strings.Split(one.Value, ","), key)
		}
	}
	return true
}

func (f *File) series(content []byte) error {
	var s seriesRecord
	if err := unmarshal(content, &s); err != nil {
		return err
	}
	if len(f.Windows) == 0 {
		return errors.New("a series without a window")
	}
	w := &f.Windows[len(f.Windows)-1]
	sketch := s.Kind == kindSketch
	same := func(other Series) bool { return other.Key == s.Key && other.Family == s.Family }
	switch {
	case !sketch && s.Kind != kindSet || s.Width != 32 && s.Width != 64 || sketch && s.Count > 0:
		return errors.New("a series that is neither a set nor a sketch")
	case s.Width == 32 && s.Count > 1<<32:
		return errors.New("a set with more words than there are")
	case len(s.Key) > maxName || len(s.Family) > maxName:
		return errors.New("a name that is too long")
	case !printable(s.Key, s.Family):
		return errUnprintable
	case !f.counts(s.Key):
		return fmt.Errorf("a series of %s, which the settings do not name", s.Key)
	case len(w.Series) >= 256 || slices.ContainsFunc(w.Series, same):
		return errors.New("a series that comes twice, or too many")
	}
	w.Series = append(w.Series, Series{
		Key: s.Key, Family: s.Family, Packets: s.Packets, file: f, sketch: sketch, width: s.Width, count: s.Count,
	})
	return nil
}

func unmarshal(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one value")
	}
	return nil
}

// head reads the kind and the length of the record at an offset.
func (f *File) head(at int64) (kind byte, length int, err error) {
	var b [recordHead]byte
	if err := f.read(b[:], at, at); err != nil {
		return 0, 0, err
	}
	kind, n := b[0], binary.LittleEndian.Uint32(b[1:])
	limit, ok := limits[kind]
	if !ok || uint64(n) > uint64(limit) {
		return 0, 0, f.invalid(at, "no record")
	}
	if at+recordHead+int64(n)+recordTail > f.size {
		return 0, 0, f.cut(at)
	}
	return kind, int(n), nil
}

// content reads the record at an offset into buf, and returns its content.
func (f *File) content(buf []byte, at int64) ([]byte, error) {
	_, length, err := f.head(at)
	if err != nil {
		return nil, err
	}
	b := slices.Grow(buf[:0], recordHead+length+recordTail)[:recordHead+length+recordTail]
	if err := f.read(b, at, at); err != nil {
		return nil, err
	}
	body := b[:recordHead+length]
	if checksum(body) != binary.LittleEndian.Uint32(b[len(body):]) {
		return nil, f.invalid(at, "the checksum of the record does not fit")
	}
	return body[recordHead:], nil
}

// read fills b from an offset, within the record at record.
func (f *File) read(b []byte, at, record int64) error {
	n, err := f.from.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case errors.Is(err, io.EOF):
		return f.cut(record)
	}
	return fmt.Errorf("%s: byte %d: %w", f.Name, at, err)
}

func (f *File) cut(at int64) error { return f.invalid(at, "it is cut short") }

// invalid returns an error about the record at an offset.
func (f *File) invalid(at int64, format string, args ...any) error {
	return fmt.Errorf("%s: byte %d: %w: %s", f.Name, at, ErrInvalid, fmt.Sprintf(format, args...))
}
