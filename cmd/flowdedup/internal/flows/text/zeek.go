// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// zeek has the values of the lines with # in a log of Zeek: its default format, with tabs
// (Zeek, Log Output Formats). Logs that follow each other in a file have each their own.
type zeek struct {
	isZeek bool
	other  bool // lines belong to another log than conn
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
