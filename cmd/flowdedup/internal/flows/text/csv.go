// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"slices"

	"github.com/flowdedup/flowdedup/asm/signs"
)

// columns are the fields of lines.
type columns struct {
	separator byte // ' ' stands for any number of spaces
	plain     bool // quotes are signs as others
	targets   []target
	wanted    []int     // the columns with a target
	odd       [256]bool // first bytes of fields that may be more or less than a value
	least     int       // how many fields a line must have: those behind say nothing
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
