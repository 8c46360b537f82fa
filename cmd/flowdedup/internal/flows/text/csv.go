// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/asm/signs"
)

// columns are the fields of lines.
type columns struct {
	separator byte // ' ' stands for any number of spaces
	plain     bool // quotes are signs as others
	targets   []target
	wanted    []int     // the columns with a target
	odd       [256]bool // first bytes of fields that may be more or less than a value
	least     int       // how many fields a line must have: fields behind say nothing
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

// trim cuts off the spaces around a value. Copies of it would be most of its callers' code.
//
//go:noinline
func trim(v []byte) []byte {
	for len(v) > 0 && isSpace(v[0]) {
		v = v[1:]
	}
	for len(v) > 0 && isSpace(v[len(v)-1]) {
		v = v[:len(v)-1]
	}
	return v
}

func isSpace(c byte) bool { return c <= ' ' && (c == ' ' || c == '\t' || c == '\r' || c == '\n') }

// namesOf returns the names of a header.
func (c *columns) namesOf(line []byte) (names []string) {
	c.split(line, func(_ int, v []byte) { names = append(names, string(v)) })
	return names
}

// setColumns enters the names of a header.
func (r *Reader) setColumns(names []string) {
	c := &r.columns
	c.targets, c.wanted, c.least = c.targets[:0], c.wanted[:0], 0
	for i, name := range names {
		t := r.format.names[name]
		if c.targets = append(c.targets, t); t != 0 {
			c.wanted, c.least = append(c.wanted, i), i+1
		}
	}
	r.bounds, r.marked = make([]int, len(names)+2*signs.Bytes), 0
}

// setOdd finds the first bytes of fields that may be more or less than a value.
func (r *Reader) setOdd() {
	clear(r.odd[:])
	for _, some := range []string{" ", "\t", "\r", `"`, r.unset, r.empty} {
		if some != "" {
			r.odd[some[0]] = true
		}
	}
}

// apart reports whether a line is no record: a repeated header, as in concatenated files, or Zeek's
// lines about fields.
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
func (r *Reader) csvRecord(line []byte) bool {
	c, n := &r.columns, r.fields
	slow := r.slow || c.separator == '\r' || c.separator == ' ' && r.padded()
	if slow {
		n = c.split(line, r.takeField)
	}
	if n < c.least || n > len(c.targets)+1 {
		return false
	}
	buf, bounds, columns := r.buf, r.bounds, c.wanted
	if slow {
		columns = nil
	}
	for _, i := range columns {
		v, t := buf[bounds[i]+1:bounds[i+1]], c.targets[i]
		if len(v) == 0 {
			continue
		}
		if c.odd[v[0]] || v[len(v)-1] <= ' ' {
			r.enter(t, c.unquote(trim(v)))
		} else if !r.set(t, v) {
			r.cannot(t, v)
		}
	}
	return true
}

// marks has the signs of a part of the bytes read: of its blocks from first on, counted from the
// begin of the buffer.
type marks struct {
	blocks        [64]signs.Block
	first, marked int
	// bounds are the place before the line at hand, the places of its separators, and its end.
	// fields is the number of its fields.
	bounds []int
	fields int
}

// mark finds the signs of the part that begins with a block. If the buffer has no such block, it
// returns false, and nothing is marked: more bytes may come.
func (r *Reader) mark(block int) bool {
	text := r.buf[min(block*signs.Bytes, len(r.buf)):]
	text = text[:min(len(r.blocks)*signs.Bytes, len(text))]
	quote := byte('"')
	if r.plain {
		quote = '\n'
	}
	signs.Find(r.blocks[:], text, r.separator, quote)
	r.marks.first, r.marked = block, (len(text)+signs.Bytes-1)/signs.Bytes
	return len(text) > 0
}

// line returns the length of the line at r.at with its end, 0 if that is not there yet. It finds the
// bounds of the fields of the line; of too many it finds some.
func (r *Reader) line() int {
	m, n, most := &r.marks, uint(1), uint(len(r.targets)+1)
	m.bounds[0] = r.at - 1
	from, inside := ^uint64(0)<<(uint(r.at)%signs.Bytes), uint64(0)
	for i := r.at / signs.Bytes; ; i++ {
		if uint(i-m.first) >= uint(m.marked) && !r.mark(i) {
			return 0
		}
		b, at := &m.blocks[uint(i-m.first)%uint(len(m.blocks))], i*signs.Bytes
		end := b.Ends & from
		from &= (end - 1) &^ end // what is in front of the first end
		found := b.Separators & from
		if quotes := b.Quotes & from; quotes|inside != 0 {
			for shift := 1; shift < signs.Bytes; shift *= 2 {
				quotes ^= quotes << shift // in the end, bits say that an odd number of quotes precedes
			}
			found &^= quotes ^ inside
			inside ^= uint64(int64(quotes) >> 63)
		}
		if n <= most {
			bounds, k := (*[signs.Bytes]int)(m.bounds[n:]), uint(0)
			for ; found != 0; found &= found - 1 {
				bounds[k%signs.Bytes] = at + bits.TrailingZeros64(found)
				k++
			}
			n += k
		}
		if end != 0 {
			at += bits.TrailingZeros64(end)
			m.bounds[n], m.fields = at, int(n)
			return at + 1 - r.at
		}
		from = ^uint64(0)
	}
}

// padded reports whether spaces around fields are among the separators of the line at hand.
func (r *Reader) padded() bool {
	for _, at := range r.bounds[:r.fields] {
		if isSpace(r.buf[at+1]) {
			return true
		}
	}
	return false
}

// zeek has the values of the lines with # in a log of Zeek: its default format, with tabs
// (Zeek, Log Output Formats). Logs that follow each other in a file have each their own.
type zeek struct {
	isZeek bool
	other  bool // lines do not belong to the log conn
}

// zeekLog is the name of the preset for Zeek.
const zeekLog = "zeek-conn"

// beginZeek reads the lines in front of the first log.
func (r *Reader) beginZeek() error {
	r.isZeek, r.plain, r.separator = true, true, '\t'
	r.empty = "(empty)"
	if r.format == nil {
		r.format = formats[slices.IndexFunc(formats, func(f *format) bool { return f.name == zeekLog })]
	}
	for r.targets == nil {
		line, err := r.first()
		if err != nil {
			return err
		}
		if line[0] != '#' {
			return fmt.Errorf("%w: it begins as a log of Zeek, and has no #fields", ErrFormat)
		}
		r.directive(line)
		if n := r.lineEnd(); n > 0 {
			r.at += n
		} else {
			r.at = len(r.buf)
		}
	}
	return nil
}

// directive takes a line that begins with #.
func (r *Reader) directive(line []byte) {
	separator := r.separator
	if bytes.HasPrefix(line, []byte("#separator ")) {
		separator = ' '
	}
	name, value, _ := bytes.Cut(line, []byte{separator})
	switch string(name) {
	case "#separator":
		if n, err := strconv.ParseUint(strings.TrimPrefix(string(value), `\x`), 16, 8); err == nil {
			r.separator, r.marked = byte(n), 0
		}
	case "#unset_field":
		r.unset = string(value)
		r.setOdd()
	case "#empty_field":
		r.empty = string(value)
		r.setOdd()
	case "#path":
		r.other = !bytes.HasPrefix(value, []byte("conn"))
	case "#fields":
		names := r.namesOf(value)
		r.setColumns(names)
		r.other = r.other || !r.format.fits(names)
	}
}
