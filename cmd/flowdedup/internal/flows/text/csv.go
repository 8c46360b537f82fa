// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/capture/records"
)

// columns are the fields of lines.
type columns struct {
	separator byte // ' ' stands for any number of spaces
	plain     bool // quotes are signs as others
	targets   []target
	least     int // how many fields a line must have: those behind say nothing
}

// separatorOf returns the separator of the fields of a header.
func separatorOf(line []byte) byte {
	for _, c := range []byte("|,\t;") {
		if slices.Contains(line, c) {
			return c
		}
	}
	return ' '
}

// split calls take for each field of a line, without spaces and quotes around it.
func (c *columns) split(line []byte, take func(i int, v []byte)) (n int) {
	line = c.content(line)
	for {
		var v []byte
		v, line = c.cutField(line)
		take(n, v)
		n++
		if line == nil {
			return n
		}
	}
}

// content returns a line without its end, and without spaces around it if they are no fields.
func (c *columns) content(line []byte) []byte {
	if c.separator != '\t' {
		return trim(line)
	}
	return bytes.TrimRight(line, "\r\n")
}

// cutField returns a field and the rest behind its separator, nil behind the last.
func (c *columns) cutField(line []byte) (v, rest []byte) {
	quoted := false
	for i, sign := range line {
		switch {
		case sign == '"' && !c.plain:
			quoted = !quoted
		case sign == c.separator && !quoted:
			v, rest = trim(line[:i]), line[i+1:]
			if c.separator == ' ' {
				rest = trim(rest)
			}
			return c.unquote(v), rest
		}
	}
	return c.unquote(trim(line)), nil
}

func (c *columns) unquote(v []byte) []byte {
	if !c.plain && len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' {
		return v[1 : len(v)-1]
	}
	return v
}

func trim(v []byte) []byte {
	for len(v) > 0 && isSpace(v[0]) {
		v = v[1:]
	}
	for len(v) > 0 && isSpace(v[len(v)-1]) {
		v = v[:len(v)-1]
	}
	return v
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// namesOf returns the names of a header.
func (c *columns) namesOf(line []byte) (names []string) {
	c.split(line, func(_ int, v []byte) { names = append(names, string(v)) })
	return names
}

// setColumns enters the names of a header.
func (r *Reader) setColumns(names []string) {
	c := &r.columns
	c.targets = c.targets[:0]
	for _, name := range names {
		c.targets = append(c.targets, r.format.names[name])
	}
	c.least = len(c.targets)
	for c.least > 0 && c.targets[c.least-1] == 0 {
		c.least--
	}
}

// apart reports whether a line is none of fields: a repeated header, as in concatenated files,
// or Zeek's lines about fields.
func (r *Reader) apart(line []byte) bool {
	if !r.isZeek {
		return len(line) == len(r.header) && string(line) == r.header
	}
	if line[0] == '#' {
		r.directive(line)
		return true
	}
	if r.other {
		r.count(true)
		r.counts.Other++
	}
	return r.other
}

// csvRecord reads a record, and reports whether it has a value for each field: some
// programs end lines with a separator, others their output with a summary.
func (r *Reader) csvRecord(rec *records.Record, line []byte) bool {
	r.rec, r.values = rec, values{}
	n := 0
	if c := &r.columns; !r.slow && c.separator != ' ' && (c.plain || bytes.IndexByte(line, '"') < 0) {
		n = r.splitPlain(c.content(line))
	} else {
		n = c.split(line, r.takeField)
	}
	return n >= r.columns.least && n <= len(r.columns.targets)+1
}

// splitPlain does what split does with takeField for a line that is not quoted, eight bytes at a time.
func (r *Reader) splitPlain(line []byte) (n int) {
	const ones, low = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f
	begin, separators, at := 0, ones*uint64(r.separator), 0
	for ; len(line)-at >= 8; at += 8 {
		x := binary.LittleEndian.Uint64(line[at:]) ^ separators
		for is := ^((x&low + low) | x | low); is != 0; is &= is - 1 { // bytes that are 0
			end := at + bits.TrailingZeros64(is)/8
			r.takePlain(n, line[begin:end])
			n, begin = n+1, end+1
		}
	}
	for ; at < len(line); at++ {
		if line[at] == r.separator {
			r.takePlain(n, line[begin:at])
			n, begin = n+1, at+1
		}
	}
	r.takePlain(n, line[begin:])
	return n + 1
}

// takePlain enters a field with spaces around it.
func (r *Reader) takePlain(i int, v []byte) {
	if i < len(r.columns.targets) && r.columns.targets[i] != 0 {
		r.enter(r.columns.targets[i], trim(v))
	}
}
