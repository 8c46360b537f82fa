// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// fits reports whether the columns are wide enough for the lines.
func (d *textTable) fits(lines []tableLine) bool {
	for i := range lines {
		for column, cell := range lines[i] {
			if width(cell) > d.widths[column] {
				return false
			}
		}
	}
	return true
}

// widen makes the columns as wide as the lines need, and hides some where the terminal is too
// narrow for all.
func (d *textTable) widen(lines []tableLine) {
	for i := range lines {
		for column, cell := range lines[i] {
			d.widths[column] = max(d.widths[column], width(cell))
		}
	}
	if d.terminal == 0 {
		return
	}
	for _, column := range []int{columnIPv4, columnIPv6, columnPackets} {
		if d.width() > d.terminal && !d.isHidden(column) {
			d.hidden = append(d.hidden, d.heads[column])
		}
	}
}

func (d *textTable) isHidden(column int) bool { return slices.Contains(d.hidden, d.heads[column]) }

// width returns the width of the table.
func (d *textTable) width() int {
	sum := -len(columnGap)
	for column, width := range d.widths {
		if !d.isHidden(column) {
			sum += width + len(columnGap)
		}
	}
	return sum
}

const columnGap = "  "

// width returns how many columns a cell takes, which has no wide characters.
func width(cell string) int { return utf8.RuneCountInString(cell) }

// begin begins the table, unless it has begun.
func (d *textTable) begin() {
	if !d.open {
		if d.rows {
			d.text.WriteByte('\n')
		}
		d.line(d.heads)
	}
	d.open, d.rows = true, true
}

func (d *textTable) line(cells tableLine) {
	line := d.scratch[:0]
	for column, cell := range cells {
		if d.isHidden(column) {
			continue
		}
		if len(line) > 0 {
			line = append(line, columnGap...)
		}
		fill := d.widths[column] - width(cell)
		if column < textColumns {
			line = append(line, cell...)
		}
		for range fill {
			line = append(line, ' ')
		}
		if column >= textColumns {
			line = append(line, cell...)
		}
	}
	d.text.Write(bytes.TrimRight(line, " "))
	d.text.WriteByte('\n')
	d.scratch = line
}

// ranked returns the table of a ranking. note says how much too high its counts may be, "" if they
// are exact.
func ranked(all []count.Top) (columns []show.Column, rows [][]string, note string) {
	columns = []show.Column{{Name: "top " + all[0].Of, Left: true}, {Name: "packets"}, {Name: "share"}, {Name: "bytes"}, {Name: "share"}}
	var packets, bytes uint64
	for i := range all {
		t := &all[i]
		rows = append(rows, []string{t.Value, show.Count(t.Packets), show.Percent(t.PacketsShare, 1, 1), show.Count(t.Bytes), show.Percent(t.BytesShare, 1, 1)})
		packets, bytes = max(packets, t.Packets-t.PacketsLow), max(bytes, t.Bytes-t.BytesLow)
	}
	if packets > 0 {
		note = fmt.Sprintf("for want of memory packets are up to %s, bytes up to %s too high", show.Count(packets), show.Count(bytes))
	}
	return columns, rows, note
}

// top writes the rankings of a window outside of the table.
func (d *textTable) top(rows []count.Row) {
	for i := range rows {
		if len(rows[i].Top) == 0 {
			continue
		}
		d.open = false
		columns, cells, note := ranked(rows[i].Top)
		lines := show.Table(columns, cells, max(0, d.terminal-2))
		if note != "" {
			lines = append(lines, note)
		}
		d.text.WriteString("\n  " + strings.Join(lines, "\n  ") + "\n")
	}
}
