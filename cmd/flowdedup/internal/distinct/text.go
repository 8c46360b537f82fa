// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine/distinct"
)

// textTable writes a table with a line per window and key, as windows close. It
// remembers only the widths of columns, however many windows there are. If a cell does
// not fit, the table ends and another one with wider columns begins.
type textTable struct {
	out      io.Writer
	terminal int // columns of the terminal, 0 for none
	more     moreColumns
	heads    tableLine
	widths   []int
	scratch  []byte // of a line
	lines    []tableLine
	cells    []string     // of lines
	text     bytes.Buffer // of a window
	open     bool         // the table has begun and not ended
	rows     bool         // there were any
	windows  int
	hidden   []string
	seenFrom string // when the run began, if that cut a window
	seenTo   string // when it ended
	span     string // of all packets
}

// The first textColumns columns of the table hold text, the others numbers.
const textColumns = 2

// Columns of the table. The families are left out first if a terminal is too narrow, as the
// column of all elements has their sum.
const (
	columnIPv4 = textColumns + iota
	columnIPv6
	columnAll
	columnPackets
)

// newTextTable returns an empty table for a terminal of this width, 0 for none.
func newTextTable(w io.Writer, terminal int, more moreColumns) *textTable {
	t := &textTable{out: w, terminal: terminal, more: more, heads: tableLine{"window from", "of", "IPv4", "IPv6", "all", "packets"}}
	if more.Changes {
		t.heads = append(t.heads, "new", "returning", "gone")
	}
	if more.Sensors {
		t.heads = append(t.heads, "sensors")
	}
	t.widths = make([]int, len(t.heads))
	for i, head := range t.heads {
		t.widths[i] = len(head)
		if i >= textColumns && terminal == 0 {
			t.widths[i] = max(len(head), len("999,999")) // later windows mostly have more than the first
		}
	}
	return t
}

// tableLine holds the cells of a line.
type tableLine []string

// writeRows writes the counts of a window that closed.
func (d *textTable) writeRows(all []count.Row) error {
	if all[0].Kind == count.KindTotal && !d.more.Total && d.windows == 1 {
		return nil // it is there for a ranking, and equals the window's
	}
	d.windows++
	rows := all
	lines := d.lines[:0]
	d.cells = d.cells[:0]
	missing := ""
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Of == rows[0].Of {
			n++
		}
		missing = d.missing(&rows[0])
		lines = append(lines, d.lineOf(rows[:n], len(lines) == 0))
		rows = rows[n:]
	}
	d.lines = lines
	if !d.fits(lines) {
		d.open = false
		d.widen(lines)
	}
	d.begin()
	for i := range lines {
		d.line(lines[i])
	}
	if missing != "" && d.terminal > 0 {
		d.text.WriteString(show.Wrap("  "+missing, 4, d.terminal) + "\n")
	}
	d.top(all)
	_, err := d.text.WriteTo(d.out)
	return err
}

// close ends the table, and says how many packets the filter removed, and how many are in no row
// of addresses.
func (d *textTable) close(filtered, withoutIP uint64) error {
	var text strings.Builder
	if !d.rows {
		text.WriteString("no packets\n")
	}
	d.notes(&text)
	if filtered > 0 {
		fmt.Fprintf(&text, "%s filtered out\n", show.Some(filtered, "packet"))
	}
	if withoutIP > 0 {
		fmt.Fprintf(&text, "%s without IP, in no row of addresses\n", english.Plural(int(withoutIP), "packet", ""))
	}
	_, err := io.WriteString(d.out, text.String())
	return err
}

// notes explain the table.
func (d *textTable) notes(text *strings.Builder) {
	if d.more.Top && d.rows {
		text.WriteByte('\n')
	}
	if d.span != "" {
		text.WriteString(show.Wrap("all: "+d.span, 2, cmp.Or(d.terminal, math.MaxInt)) + "\n")
	}
	if why := d.whyCut(); why != "" {
		text.WriteString(show.Wrap("* a part of the window: "+why, 2, cmp.Or(d.terminal, math.MaxInt)) + "\n")
	}
	if len(d.hidden) > 0 {
		fmt.Fprintf(text, "too narrow for %s\n", strings.Join(d.hidden, ", "))
	}
}

// whyCut explains the star of cut windows, "" without any.
func (d *textTable) whyCut() string {
	var cut []string
	if d.seenFrom != "" {
		cut = append(cut, "begins at "+d.seenFrom)
	}
	if d.seenTo != "" {
		cut = append(cut, "ends at "+d.seenTo)
	}
	switch {
	case len(cut) == 0:
		return ""
	case d.more.Sensors:
		return "a sensor began after its start or ended before its end"
	}
	return "the input " + strings.Join(cut, " and ")
}

// overlap writes a table of the sensors outside of the table, for all families of a key
// together: how many elements each has, how many only that one has, and which share of its
// elements each other one has, too.
func (d *textTable) overlap(o *overlap) error {
	if o.Family != "all" {
		return nil
	}
	d.open = false
	var text strings.Builder
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
	for _, line := range show.Table(columns, rows, d.terminal) {
		text.WriteString(line + "\n")
	}
	_, err := io.WriteString(d.out, text.String())
	return err
}

// lineOf returns the line of a key, with its families side by side, in d.cells. The first one names the window.
func (d *textTable) lineOf(rows []count.Row, first bool) tableLine {
	at, end := len(d.cells), len(d.cells)+len(d.heads)
	d.cells = append(d.cells, make(tableLine, len(d.heads))...)
	line := d.cells[at:end:end]
	line[1] = rows[0].Of
	if first {
		line[0] = d.window(&rows[0])
		if rows[0].Cut.Cut != "" {
			line[0] += " *"
			d.cut(&rows[0])
		}
	}
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
			line = d.moreCells(line[:6], r)
		}
	}
	return line
}

// moreCells appends the cells behind the common ones of every table.
func (d *textTable) moreCells(cells tableLine, r *count.Row) tableLine {
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
	if missing := d.missing(r); missing != "" && d.terminal == 0 {
		cell += " " + missing
	}
	return append(cells, cell)
}

// namedMissing is how many missing sensors a line names.
const namedMissing = 4

// missing names the sensors that have no such window, "" if all have it.
func (d *textTable) missing(r *count.Row) string {
	if r.RowSensors == nil || len(r.Missing) == 0 {
		return ""
	}
	n := len(r.Missing)
	text := "without " + show.Printable(strings.Join(r.Missing[:min(n, namedMissing)], ", "))
	if n > namedMissing {
		text += fmt.Sprintf(" and %d more", n-namedMissing)
	}
	return text
}

func estimate(e distinct.Estimate) string { return bounded(e.Distinct, e.Low, e.High) }

// bounded formats a number, with the larger distance to its bounds unless it is exact.
func bounded(n, low, high uint64) string {
	cell := show.Count(n)
	if low != high {
		cell += " ±" + show.Count(max(n-min(n, low), max(n, high)-n))
	}
	return cell
}

// window names a window by its start. That of one which follows the packets is in a note.
func (d *textTable) window(r *count.Row) string {
	switch {
	case r.WindowStart == nil:
		return "without a timestamp"
	case r.Kind == count.KindTotal || d.more.Whole:
		d.span = window(r)
		return "all"
	}
	from, _, layout := local(r.Zone, r.Start, r.End)
	return from.Format(layout)
}

// cut remembers how the run cut a window.
func (d *textTable) cut(r *count.Row) {
	if r.SeenFrom != nil {
		d.seenFrom = toSecond(r.Zone, *r.SeenFrom)
	}
	if r.SeenTo != nil {
		d.seenTo = toSecond(r.Zone, *r.SeenTo)
	}
}

// toSecond formats a stamp in a zone.
func toSecond(zone *time.Location, stamp string) string {
	t, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return stamp // of a year that the format cannot write
	}
	return t.In(cmp.Or(zone, time.UTC)).Format(seconds)
}

// Layouts of times.
const (
	minutes = "2006-01-02 15:04 MST"
	seconds = "2006-01-02 15:04:05 MST"
	exact   = "2006-01-02 15:04:05.000000000 MST"
)

// local returns two times in a zone, and the layout that shows them with its name: to the minute if both
// are at full ones.
func local(zone *time.Location, start, end int64) (from, to time.Time, layout string) {
	layout = minutes
	zone = cmp.Or(zone, time.UTC)
	s, e := time.Unix(0, start).In(zone), time.Unix(0, end).In(zone)
	switch {
	case s.Nanosecond()|e.Nanosecond() != 0:
		layout = exact
	case s.Second()|e.Second() != 0:
		layout = seconds
	}
	return s, e, layout
}

// window names a window by both of its bounds.
func window(r *count.Row) string {
	if r.WindowStart == nil {
		return "without a timestamp"
	}
	from, to, layout := local(r.Zone, r.Start, r.End)
	return from.Format(layout) + " to " + to.Format(layout)
}
