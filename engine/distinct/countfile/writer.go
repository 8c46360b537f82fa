// SPDX-License-Identifier: Apache-2.0

package countfile

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/distinct/internal/wordset"
)

// errSeries begins errors about contents that a Writer cannot take.
var errSeries = errors.New("not a series for a file of counts")

const magic = "FLOWCNT1"

// The kinds of records.
const (
	recordHeader    = 'H'
	recordWindow    = 'W'
	recordSeries    = 'S'
	recordBlock     = 'B'
	recordRegisters = 'R'
	recordEnd       = 'E'
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header is common to all windows of a file.
type Header struct {
	// Sensor is the name of the sensor that counted. If it is "", Open uses the name of
	// the file.
	Sensor string `json:"sensor,omitempty"`
	// Settings must be equal for windows to be merged. They are compared in this order.
	Settings []Setting `json:"settings"`
}

// Setting is a name and its value.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// windowRecord is the content of a window's record.
type windowRecord struct {
	Start    int64  `json:"start"`
	End      int64  `json:"end"`
	SeenFrom *int64 `json:"seen_from,omitempty"`
	SeenTo   *int64 `json:"seen_to,omitempty"`
}

// seriesRecord is the content of a series' record.
type seriesRecord struct {
	Key     string `json:"key"`
	Family  string `json:"family"`
	Packets uint64 `json:"packets"`
	Kind    string `json:"kind"` // kindSet or kindSketch
	Width   uint   `json:"width"`
	Count   uint64 `json:"count,omitempty"` // words of a set
}

const (
	kindSet    = "set"
	kindSketch = "sketch"
)

// Writer writes a file. After an error it writes nothing more, and Close returns it.
type Writer struct {
	to      io.Writer
	begun   bool // a window
	buf     []byte
	written int64
	err     error
}

// NewWriter writes the header. The other methods return its errors.
func NewWriter(to io.Writer, h Header) *Writer {
	w := &Writer{to: to}
	w.write([]byte(magic))
	w.json(recordHeader, &h)
	return w
}

// Window begins a window.
func (w *Writer) Window(s Span) error {
	w.begun = true
	w.json(recordWindow, s.record())
	return w.err
}

// Series writes the contents of a counter in the last window that was begun. They must
// not be a sample, and come from a counter with the secret that Header.Settings stand for:
// elements are compared by their words. packets is the number of packets that the elements
// come from. Errors are about the series, or come from writing.
func (w *Writer) Series(key, family string, packets uint64, c distinct.Contents) error {
	if w.err == nil {
		w.err = w.check(c)
	}
	s := seriesRecord{Key: key, Family: family, Packets: packets, Kind: kindSet, Width: c.Width, Count: c.Count}
	if c.Sketch != nil {
		s.Kind = kindSketch
		w.json(recordSeries, &s)
		w.record(recordRegisters, c.Sketch.Append)
		return w.err
	}
	w.json(recordSeries, &s)
	for words := range wordset.Blocks(c.Words, c.Count) {
		w.record(recordBlock, func(b []byte) []byte { return wordset.AppendBlock(b, words) })
		if w.err != nil {
			break
		}
	}
	return w.err
}

// check returns why contents can be no series here.
func (w *Writer) check(c distinct.Contents) error {
	switch {
	case !w.begun:
		return fmt.Errorf("%w: no window has begun", errSeries)
	case c.Level > 0:
		return fmt.Errorf("%w: it is a sample, and others have another one", errSeries)
	}
	return nil
}

// Close writes the last record, and returns how many bytes were written in all.
func (w *Writer) Close() (written int64, err error) {
	w.record(recordEnd, func(b []byte) []byte { return b })
	return w.written, w.err
}

func (w *Writer) json(kind byte, content any) {
	text, err := json.Marshal(content)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.record(kind, func(b []byte) []byte { return append(b, text...) })
}

// record writes a record, whose content add appends.
func (w *Writer) record(kind byte, add func(b []byte) []byte) {
	b := add(append(w.buf[:0], kind, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(b[1:], uint32(len(b)-recordHead))
	w.buf = binary.LittleEndian.AppendUint32(b, checksum(b))
	w.write(w.buf)
}

// checksum returns the checksum of a record without it.
func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	var n int
	n, w.err = w.to.Write(b)
	w.written += int64(n)
}
