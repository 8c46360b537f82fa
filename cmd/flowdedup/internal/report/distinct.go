package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/distinct"
)

// DistinctJSON writes one object a line, each as soon as it is known.
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
	return d, d.w.Write([]string{"window_start", "window_end", "of", "family", "distinct", "low", "high", "packets", "method", "memory_bytes", "fpr"})
}

// Rows writes the counts of a window that closed.
func (d *DistinctCSV) Rows(rows []distinct.Row) error {
	for i := range rows {
		r := &rows[i]
		err := d.w.Write([]string{
			value(r.WindowStart), value(r.WindowEnd), r.Of, r.Family,
			strconv.FormatUint(r.Distinct, 10), strconv.FormatUint(r.Low, 10), strconv.FormatUint(r.High, 10),
			strconv.FormatUint(r.Packets, 10), r.Method, strconv.Itoa(r.MemoryBytes), strconv.FormatFloat(r.FPR, 'g', -1, 64),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Close flushes what is left.
func (d *DistinctCSV) Close() error {
	d.w.Flush()
	return d.w.Error()
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// DistinctTable collects counts for people: a line for each window and key.
type DistinctTable struct {
	out   io.Writer
	table table.Writer
}

// NewDistinctTable returns an empty table.
func NewDistinctTable(w io.Writer) *DistinctTable {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateRows = false
	t.AppendHeader(table.Row{"window", "distinct", "IPv4", "IPv6", "all", "packets"})
	columns := []table.ColumnConfig{{Number: 1, AutoMerge: true}}
	for n := 3; n <= 6; n++ {
		columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	return &DistinctTable{out: w, table: t}
}

// Rows takes the counts of a window that closed.
func (d *DistinctTable) Rows(rows []distinct.Row) error {
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Of == rows[0].Of {
			n++
		}
		d.line(rows[:n])
		rows = rows[n:]
	}
	d.table.AppendSeparator()
	return nil
}

// line enters the families of one key.
func (d *DistinctTable) line(rows []distinct.Row) {
	cells := map[string]string{}
	var packets uint64
	for i := range rows {
		r := &rows[i]
		cells[r.Family] = count(r.Distinct)
		if r.Low != r.High {
			cells[r.Family] = fmt.Sprintf("%s (%s to %s)", count(r.Distinct), count(r.Low), count(r.High))
		}
		if r.Family == "all" {
			packets = r.Packets
		}
	}
	d.table.AppendRow(table.Row{window(&rows[0]), rows[0].Of, cells["ipv4"], cells["ipv6"], cells["all"], count(packets)})
}

// SightingText writes a first sighting for people, on a line of its own.
func SightingText(w io.Writer, s *distinct.Sighting) error {
	_, err := fmt.Fprintf(w, "%s\t%s\t%s\n", value(s.FirstSeen), s.Of, s.Value)
	return err
}

func window(r *distinct.Row) string {
	if r.WindowStart == nil {
		return "without a timestamp"
	}
	return short(*r.WindowStart) + " to " + short(*r.WindowEnd)
}

// short drops a fraction of zeros and writes the date apart from the time.
func short(stamp string) string {
	return strings.Replace(strings.Replace(stamp, ".000000000", "", 1), "T", " ", 1)
}

// Close writes the table, and how many packets were left out of it since a filter did
// not want them.
func (d *DistinctTable) Close(filtered uint64) error {
	text := "no packets"
	if d.table.Length() > 0 {
		text = d.table.Render()
	}
	if filtered > 0 {
		text += fmt.Sprintf("\n%s packets filtered out", count(filtered))
	}
	_, err := fmt.Fprintln(d.out, text)
	return err
}
