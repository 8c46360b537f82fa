// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"errors"
	"fmt"
)

// Bounds of the text that is inspected before the first record is taken.
const (
	aheadBytes   = 16 << 20
	aheadRecords = 1000 // to find out the format, and to find a time
)

// further says whether more is to be looked at.
type further uint8

const (
	enough  further = iota
	ifThere         // if it was read already: who writes the text may wait
	more
)

// ahead calls see with each record that comes, as it came, without taking it: until see
// has enough, or the text ends or fails, or too much was seen.
func (r *Reader) ahead(see func(record []byte) further) {
	next := more
	for at, over := 0, false; ; {
		at = r.skipBetween(at)
		rest := r.buf[r.at+at:]
		n := r.recordEnd(rest)
		if n == 0 && over {
			n = len(rest)
		}
		if n > 0 {
			next = see(rest[:n])
			at += n
		}
		switch {
		case next == enough, at > aheadBytes, n == 0 && (over || next == ifThere || len(rest) > maxRecord):
			return
		case n == 0:
			over = r.fill() != nil // it comes again when records are taken
		}
	}
}

// skipBetween returns where the next object of an array begins, at or behind at.
func (r *Reader) skipBetween(at int) int {
	for r.array && r.at+at < len(r.buf) && r.buf[r.at+at] != '{' {
		at++
	}
	return at
}

// recordEnd returns the length of the record that begins p, 0 if its end is not there.
func (r *Reader) recordEnd(p []byte) int {
	if r.array {
		var s scan
		return s.end(p)
	}
	return bytes.IndexByte(p, '\n') + 1
}

// firstOf returns the format of the first record about a flow: logs may begin with other events. If
// there is no such record, names are the names of the first record.
func (r *Reader) firstOf() (f *format, names []string) {
	var all []string
	probe := object{take: func(path, _ []byte) { all = append(all, string(path)) }}
	seen := 0
	r.ahead(func(record []byte) further {
		all = nil
		if probe.read(record) {
			f = formatOf(all)
		}
		if names == nil {
			names = all
		}
		seen++
		if f != nil || seen == aheadRecords {
			return enough
		}
		return more
	})
	return f, names
}

// ErrOrder is wrapped by errors about dates that end with the year, where nothing says
// whether the day or the month is first.
var ErrOrder = errors.New("nothing says whether day or month is first: say so with --time-format, as in '%d/%m/%Y %H:%M:%S'")

// findOrder finds out whether dates that end with the year begin with the day or with the
// month: a number above 12 is a day.
func (r *Reader) findOrder() error {
	if r.times.layout.layout != "" || r.isZeek {
		return nil
	}
	var doubt string
	defer func(take func(path, v []byte)) { r.object.take = take }(r.object.take)
	seen, timed := 0, false
	see := func(t target, v []byte) {
		if t != start && t != end && t != received || len(v) == 0 || string(v) == r.unset {
			return
		}
		timed = true
		o, is := orderOf(v)
		if is && doubt == "" {
			doubt = string(v[:min(len(v), maxExample)])
		}
		r.times.order |= o // both orders together are contradictory
	}
	r.object.take = func(path, v []byte) { see(r.format.names[string(path)], v) }
	r.ahead(func(record []byte) further {
		if r.json {
			r.object.read(record)
		} else {
			r.columns.split(record, func(i int, v []byte) {
				if i < len(r.columns.targets) {
					see(r.columns.targets[i], v)
				}
			})
		}
		seen++
		switch {
		case r.times.order != unknownOrder || doubt == "" && timed || seen == aheadRecords && !timed:
			return enough
		case doubt == "":
			return ifThere
		}
		return more
	})
	switch {
	case doubt != "" && r.times.order == unknownOrder:
		return fmt.Errorf("dates such as %q: %w", doubt, ErrOrder)
	case r.times.order == contradictory:
		return fmt.Errorf("dates such as %q, some of each kind: %w", doubt, ErrOrder)
	}
	return nil
}
