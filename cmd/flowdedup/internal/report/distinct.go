package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/distinct"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// DistinctJSON writes one object per line, each as soon as it is known.
type DistinctJSON struct{ enc *json.Encoder }

// NewDistinctJSON returns a writer of JSON lines.
func NewDistinctJSON(w io.Writer) *DistinctJSON {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // values are like "10.0.0.1 > 10.0.0.2"
	return &DistinctJSON{enc}
}

// Rows writes the counts of a window that closed.
func (d *DistinctJSON) Rows(rows []distinct.Row) error {
	for i := range rows {
		if err := d.enc.Encode(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// Sighting writes a first sighting.
func (d *DistinctJSON) Sighting(s *distinct.Sighting) error { return d.enc.Encode(s) }

// DistinctCSV writes counts as comma-separated values with a header line
// (RFC 4180).
type DistinctCSV struct{ w *csv.Writer }

// NewDistinctCSV writes the header line.
func NewDistinctCSV(w io.Writer) (*DistinctCSV, error) {
	d := &DistinctCSV{csv.NewWriter(w)}
	return d, d.w.WriteAll([][]string{{"window_start", "window_end", "of", "family", "distinct", "low", "high", "packets", "method", "memory_bytes", "fpr"}})
}

// Rows writes the counts of a window that closed.
func (d *DistinctCSV) Rows(rows []distinct.Row) error {
	records := make([][]string, len(rows))
	for i := range rows {
		r := &rows[i]
		records[i] = []string{
			value(r.WindowStart), value(r.WindowEnd), r.Of, r.Family,
			strconv.FormatUint(r.Distinct, 10), strconv.FormatUint(r.Low, 10), strconv.FormatUint(r.High, 10),
			strconv.FormatUint(r.Packets, 10), r.Method, strconv.Itoa(r.MemoryBytes), strconv.FormatFloat(r.FPR, 'g', -1, 64),
		}
	}
	return d.w.WriteAll(records) // and flush: nothing waits for later windows
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// SightingText writes a first sighting as a line of text.
func SightingText(w io.Writer, s *distinct.Sighting) error {
	_, err := fmt.Fprintf(w, "%s\t%s\t%s\n", value(s.FirstSeen), s.Of, s.Value)
	return err
}

// DistinctTable writes a table with a line per window and key, as windows close. It
// remembers only the widths of columns, however many windows there are. If a cell does
// not fit, the table ends and another one with wider columns begins.
type DistinctTable struct {
	out    io.Writer
	widths [len(distinctHeads)]int
	open   bool // the table has begun and not ended
	rows   bool // there were any
}

// distinctHeads are the headings of the columns. The first textColumns columns hold text,
// the others numbers.
var distinctHeads = [...]string{"window", "distinct", "IPv4", "IPv6", "all", "packets"}

const textColumns = 2

// NewDistinctTable returns an empty table.
func NewDistinctTable(w io.Writer) *DistinctTable {
	t := &DistinctTable{out: w}
	for i, head := range distinctHeads {
		t.widths[i] = len(head)
		if i >= textColumns {
			t.widths[i] = len("999,999") // later windows mostly have more than the first
		}
	}
	return t
}

// tableLine holds the cells of a line.
type tableLine [len(distinctHeads)]string

// Rows writes the counts of a window that closed.
func (d *DistinctTable) Rows(rows []distinct.Row) error {
	var lines []tableLine
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Of == rows[0].Of {
			n++
		}
		lines = append(lines, lineOf(rows[:n]))
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
		d.line(&text, &lines[i])
	}
	_, err := io.WriteString(d.out, text.String())
	return err
}

// Sighting writes a first sighting on a line outside of the table.
func (d *DistinctTable) Sighting(s *distinct.Sighting) error {
	var text strings.Builder
	d.end(&text)
	if _, err := io.WriteString(d.out, text.String()); err != nil {
		return err
	}
	return SightingText(d.out, s)
}

// Close ends the table, and says how many packets the filter removed.
func (d *DistinctTable) Close(filtered uint64) error {
	var text strings.Builder
	d.end(&text)
	if !d.rows {
		text.WriteString("no packets\n")
	}
	if filtered > 0 {
		fmt.Fprintf(&text, "%s packets filtered out\n", show.Count(filtered))
	}
	_, err := io.WriteString(d.out, text.String())
	return err
}

// lineOf returns the line of a key, with its families side by side.
func lineOf(rows []distinct.Row) tableLine {
	line := tableLine{window(&rows[0]), rows[0].Of}
	for i := range rows {
		r := &rows[i]
		cell := show.Count(r.Distinct)
		if r.Low != r.High {
			cell = fmt.Sprintf("%s (%s to %s)", cell, show.Count(r.Low), show.Count(r.High))
		}
		switch r.Family {
		case "ipv4":
			line[2] = cell
		case "ipv6":
			line[3] = cell
		default:
			line[4], line[5] = cell, show.Count(r.Packets)
		}
	}
	return line
}

// fits reports whether the columns are wide enough for the lines.
func (d *DistinctTable) fits(lines []tableLine) bool {
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
func (d *DistinctTable) widen(lines []tableLine) {
	for i := range lines {
		for column, cell := range lines[i] {
			d.widths[column] = max(d.widths[column], len(cell))
		}
	}
}

// begin begins the table, or separates a window from the previous one.
func (d *DistinctTable) begin(text *strings.Builder) {
	if !d.open {
		d.rule(text, "┌", "┬", "┐")
		d.line(text, (*tableLine)(&distinctHeads))
	}
	d.rule(text, "├", "┼", "┤")
	d.open, d.rows = true, true
}

// end ends the table if it has begun.
func (d *DistinctTable) end(text *strings.Builder) {
	if d.open {
		d.rule(text, "└", "┴", "┘")
	}
	d.open = false
}

func (d *DistinctTable) rule(text *strings.Builder, left, between, right string) {
	for column, width := range d.widths {
		if column > 0 {
			left = between
		}
		text.WriteString(left + strings.Repeat("─", width+2))
	}
	text.WriteString(right + "\n")
}

func (d *DistinctTable) line(text *strings.Builder, cells *tableLine) {
	for column, cell := range cells {
		width := d.widths[column]
		if column < textColumns {
			width = -width
		}
		fmt.Fprintf(text, "│ %*s ", width, cell)
	}
	text.WriteString("│\n")
}

func window(r *distinct.Row) string {
	if r.WindowStart == nil {
		return "without a timestamp"
	}
	return short(*r.WindowStart) + " to " + short(*r.WindowEnd)
}

// short drops a fraction of zeros, and separates the date from the time.
func short(stamp string) string {
	return strings.Replace(strings.Replace(stamp, ".000000000", "", 1), "T", " ", 1)
}
