package text

import (
	"slices"

	"github.com/flowdedup/flowdedup/capture/records"
)

// columns are the fields of lines.
type columns struct {
	separator byte // ' ' stands for any number of spaces
	targets   []target
	least     int // how many fields a line must have: those behind say nothing
}

// separatorOf returns what separates the fields of a header.
func separatorOf(line []byte) byte {
	for _, c := range []byte("|,\t;") {
		if slices.Contains(line, c) {
			return c
		}
	}
	return ' '
}

// split calls take for each field of a line, without spaces and quotes around it.
func split(line []byte, separator byte, take func(i int, v []byte)) (n int) {
	if separator == ' ' {
		line = trim(line)
	}
	for {
		var v []byte
		v, line = cutField(line, separator)
		take(n, v)
		n++
		if line == nil {
			return n
		}
	}
}

// cutField returns a field and what follows its separator, nil behind the last.
func cutField(line []byte, separator byte) (v, rest []byte) {
	quoted := false
	for i, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case c == separator && !quoted:
			v, rest = trim(line[:i]), line[i+1:]
			if separator == ' ' {
				rest = trim(rest)
			}
			return unquote(v), rest
		}
	}
	return unquote(trim(line)), nil
}

func unquote(v []byte) []byte {
	if len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' {
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
func namesOf(line []byte) (names []string, separator byte) {
	separator = separatorOf(line)
	split(line, separator, func(_ int, v []byte) { names = append(names, string(v)) })
	return names, separator
}

// csvRecord reads a record, and reports whether it has a value for each field: some
// programs end lines with a separator, others their output with a summary.
func (r *Reader) csvRecord(rec *records.Record, line []byte) bool {
	r.rec, r.values = rec, values{}
	n := split(line, r.columns.separator, r.takeField)
	return n >= r.columns.least && n <= len(r.columns.targets)+1
}
