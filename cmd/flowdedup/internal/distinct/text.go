// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine/distinct/sketch"
)

// textTable writes a table with a line per window and key, as windows close. It
// remembers only the widths of columns, however many windows there are. If a cell does
// not fit, the table ends and another one with wider columns begins.
type textTable struct {
	out    io.Writer
	more   moreColumns
	heads  tableLine
	widths []int
	open   bool // the table has begun and not ended
	rows   bool // there were any
}

// The first textColumns columns of the table hold text, the others numbers.
const textColumns = 2

// newTextTable returns an empty table.
func newTextTable(w io.Writer, more moreColumns) *textTable {
	t := &textTable{out: w, more: more, heads: tableLine{"window", "distinct", "IPv4", "IPv6", "all", "packets"}}
	if more.Changes {
		t.heads = append(t.heads, "new", "returning", "gone")
	}
	if more.Sensors {
		t.heads = append(t.heads, "sensors")
	}
	t.widths = make([]int, len(t.heads))
	for i, head := range t.heads {
		t.widths[i] = len(head)
		if i >= textColumns {
			t.widths[i] = len("999,999") // later windows mostly have more than the first
		}
	}
	return t
}

// tableLine holds the cells of a line.
type tableLine []string

// writeRows writes the counts of a window that closed.
func (d *textTable) writeRows(rows []count.Row) error {
	var lines []tableLine
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Of == rows[0].Of {
			n++
		}
		lines = append(lines, d.lineOf(rows[:n]))
		if len(lines) > 1 {
			lines[len(lines)-1][0] = "" // the window is named once
		}
		rows = rows[n:]
	}
	var text strings.Builder
	if !d.fits(lines) {
		d.end(&text)
		d.widen(lines)
	}
	d.begin(&text)
	for i := range lines {
		d.line(&text, lines[i])
	}
	_, err := io.WriteString(d.out, text.String())
	return err
}

// sighting writes a first sighting on a line outside of the table.
func (d *textTable) sighting(s *count.Sighting) error {
	var text strings.Builder
	d.end(&text)
	if _, err := io.WriteString(d.out, text.String()); err != nil {
		return err
	}
	return sightingText(d.out, s)
}

// close ends the table, and says how many packets the filter removed, and how many are in no row
// of addresses.
func (d *textTable) close(filtered, withoutIP uint64) error {
	var text strings.Builder
	d.end(&text)
	if !d.rows {
		text.WriteString("no packets\n")
	}
	if filtered > 0 {
		fmt.Fprintf(&text, "%s packets filtered out\n", show.Count(filtered))
	}
	if withoutIP > 0 {
		fmt.Fprintf(&text, "%s without IP, in no row of addresses\n", english.Plural(int(withoutIP), "packet", ""))
	}
	_, err := io.WriteString(d.out, text.String())
	return err
}

// overlap writes a table of the sensors outside of the table, for all families of a key
// together: how many elements each has, how many only that one has, and which share of its
// elements each other one has, too.
func (d *textTable) overlap(o *overlap) error {
	if o.Family != "all" {
		return nil
	}
	var text strings.Builder
	d.end(&text)
	columns := []show.Column{{Name: "#"}, {Name: "sensor", Left: true}, {Name: o.Of}, {Name: "only here"}}
	rows := make([][]string, len(o.Names))
	for a, name := range o.Names {
		columns = append(columns, show.Column{Name: strconv.Itoa(a + 1)})
		rows[a] = []string{strconv.Itoa(a + 1), show.Printable(name), estimate(o.Distinct[a]), estimate(o.Only[a])}
		for b := range o.Names {
			cell := "-"
			if a != b && o.Distinct[a].Distinct > 0 {
				cell = show.Percent(float64(o.Both[min(a, b)][max(a, b)].Distinct), float64(o.Distinct[a].Distinct), 0)
			}
			rows[a] = append(rows[a], cell)
		}
	}
	for _, line := range show.Table(columns, rows, false) {
		text.WriteString(line + "\n")
	}
	_, err := io.WriteString(d.out, text.String())
	return err
}

// lineOf returns the line of a key, with its families side by side.
func (d *textTable) lineOf(rows []count.Row) tableLine {
	line := make(tableLine, len(d.heads))
	line[0], line[1] = window(&rows[0]), rows[0].Of
	for i := range rows {
		r := &rows[i]
		cell := bounded(r.Distinct, r.Low, r.High)
		switch r.Family {
		case "ipv4":
			line[2] = cell
		case "ipv6":
			line[3] = cell
		default:
			line[4], line[5] = cell, show.Count(r.Packets)
			line = append(line[:6], d.moreCells(r)...)
		}
	}
	return line
}

// moreCells returns the cells behind those that every table has.
func (d *textTable) moreCells(r *count.Row) (cells []string) {
	switch c := r.RowChanges; {
	case d.more.Changes && c != nil:
		cells = append(cells, bounded(c.New, c.NewLow, c.NewHigh), bounded(c.Returning, c.ReturningLow, c.ReturningHigh),
			bounded(c.Gone, c.GoneLow, c.GoneHigh))
	case d.more.Changes:
		cells = append(cells, "", "", "")
	}
	if !d.more.Sensors {
		return cells
	}
	cell := r.Sensors
	if n := len(r.Missing); n > 0 {
		cell += " without " + show.Printable(strings.Join(r.Missing[:min(n, namedMissing)], ", "))
		if n > namedMissing {
			cell += fmt.Sprintf(" and %d more", n-namedMissing)
		}
	}
	return append(cells, cell)
}

// namedMissing is how many missing sensors a line names.
const namedMissing = 4

func estimate(e sketch.Estimate) string { return bounded(e.Distinct, e.Low, e.High) }

// bounded formats a number, with its bounds unless it is exact.
func bounded(n, low, high uint64) string {
	cell := show.Count(n)
	if low != high {
		cell = fmt.Sprintf("%s (%s to %s)", cell, show.Count(low), show.Count(high))
	}
	return cell
}

// fits reports whether the columns are wide enough for the lines.
func (d *textTable) fits(lines []tableLine) bool {
	for i := range lines {
		for column, cell := range lines[i] {
			if len(cell) > d.widths[column] {
				return false
			}
		}
	}
	return true
}

// widen makes the columns as wide as the lines need.
func (d *textTable) widen(lines []tableLine) {
	for i := range lines {
		for column, cell := range lines[i] {
			d.widths[column] = max(d.widths[column], len(cell))
		}
	}
}

// begin begins the table, or separates a window from the previous one.
func (d *textTable) begin(text *strings.Builder) {
	if !d.open {
		d.rule(text, "┌", "┬", "┐")
		d.line(text, d.heads)
	}
	d.rule(text, "├", "┼", "┤")
	d.open, d.rows = true, true
}

// end ends the table if it has begun.
func (d *textTable) end(text *strings.Builder) {
	if d.open {
		d.rule(text, "└", "┴", "┘")
	}
	d.open = false
}

func (d *textTable) rule(text *strings.Builder, left, between, right string) {
	for column, width := range d.widths {
		if column > 0 {
			left = between
		}
		text.WriteString(left + strings.Repeat("─", width+2))
	}
	text.WriteString(right + "\n")
}

func (d *textTable) line(text *strings.Builder, cells tableLine) {
	for column, cell := range cells {
		width := d.widths[column]
		if column < textColumns {
			width = -width
		}
		fmt.Fprintf(text, "│ %*s ", width, cell)
	}
	text.WriteString("│\n")
}

func window(r *count.Row) string {
	switch {
	case r.Kind == count.KindTotal && r.WindowStart != nil:
		return "all, " + show.Stamp(*r.WindowStart) + " to " + show.Stamp(*r.WindowEnd)
	case r.Kind == count.KindTotal:
		return "all"
	case r.WindowStart == nil:
		return "without a timestamp"
	}
	return show.Stamp(*r.WindowStart) + " to " + show.Stamp(*r.WindowEnd)
}
