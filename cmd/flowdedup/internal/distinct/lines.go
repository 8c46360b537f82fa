// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
)

// jsonLines writes one object per line, each as soon as it is known.
type jsonLines struct{ *count.Lines }

func newJSONLines(w io.Writer) *jsonLines { return &jsonLines{count.NewLines(w, "distinct")} }

// sighting writes a first sighting.
func (d *jsonLines) sighting(s *count.First) error { return d.Encode(s.Sighting()) }

// withoutPorts writes how many packets are in flows whose ports were not captured.
func (d *jsonLines) withoutPorts(n uint64) error {
	return d.Encode(&portsLine{d.Heading, "without_ports", n})
}

// overlap writes a line for each sensor, and one for each two.
func (d *jsonLines) overlap(o *overlap) error {
	for a, name := range o.Names {
		own, only := o.Distinct[a], o.Only[a]
		err := d.Encode(&sensorLine{
			count.Head{Heading: d.Heading, Kind: "sensor", Counted: o.Counted}, name,
			own.Distinct, own.Low, own.High, only.Distinct, only.Low, only.High,
		})
		if err != nil {
			return err
		}
	}
	for a, name := range o.Names {
		for b := a + 1; b < len(o.Names); b++ {
			both := o.Both[a][b]
			err := d.Encode(&overlapLine{
				count.Head{Heading: d.Heading, Kind: "overlap", Counted: o.Counted}, name, o.Names[b], both.Distinct, both.Low, both.High,
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// portsLine says how many packets are in flows whose ports were not captured.
type portsLine struct {
	version.Heading
	Kind         string `json:"kind"`
	WithoutPorts uint64 `json:"without_ports"`
}

// sensorLine says how many elements a sensor has, and how many only that one has.
type sensorLine struct {
	count.Head
	Sensor   string `json:"sensor"`
	Distinct uint64 `json:"distinct"`
	Low      uint64 `json:"low"`
	High     uint64 `json:"high"`
	Only     uint64 `json:"only"`
	OnlyLow  uint64 `json:"only_low"`
	OnlyHigh uint64 `json:"only_high"`
}

// overlapLine says how many elements two sensors have.
type overlapLine struct {
	count.Head
	Sensor   string `json:"sensor"`
	Other    string `json:"other"`
	Both     uint64 `json:"both"`
	BothLow  uint64 `json:"both_low"`
	BothHigh uint64 `json:"both_high"`
}

// moreColumns says which optional columns rows have, and whether windows follow the packets.
type moreColumns struct{ Total, Changes, Sensors, Whole, Top bool }

// csvLines writes counts as comma-separated values with a header line
// (RFC 4180).
type csvLines struct {
	w    *csv.Writer
	more moreColumns
	head []string
}

// Columns that rows have in all files, and the column behind these.
const distinctColumn, packetsColumn, kindColumn = 4, 7, 11

// topColumns are the columns of rankings alone. They have kinds in column kind.
var topColumns = []string{"rank", "value", "packets_low", "packets_share", "bytes_in", "bytes_low", "bytes_share"}

// newCSVLines writes the header line.
func newCSVLines(w io.Writer, more moreColumns) (*csvLines, error) {
	d := &csvLines{w: csv.NewWriter(w), more: more}
	head := []string{"window_start", "window_end", "of", "family", "distinct", "low", "high", "packets_in", "method", "memory_bytes", "predicted_fpr"}
	if more.Total || more.Top {
		head = append(head, "kind")
	}
	if more.Changes {
		head = append(head, "new", "new_low", "new_high", "returning", "returning_low", "returning_high", "gone", "gone_low", "gone_high")
	}
	if more.Sensors {
		head = append(head, "sensors", "missing")
	}
	head = append(head, "cut", "seen_from", "seen_to")
	if more.Top {
		head = append(head, topColumns...)
	}
	d.head = head
	return d, d.w.WriteAll([][]string{head})
}

// writeRows writes the counts of a window that closed.
func (d *csvLines) writeRows(rows []count.Row) error {
	var records [][]string
	for i := range rows {
		r := &rows[i]
		records = append(records, d.record(r))
		for t := range r.Top {
			records = append(records, d.top(&r.Top[t]))
		}
	}
	return d.w.WriteAll(records) // and flush: nothing waits for later windows
}

// top returns the cells of an element of a ranking, which has no counts of distinct elements.
func (d *csvLines) top(t *count.Top) []string {
	cells := d.record(&count.Row{Kind: t.Kind, Counted: t.Counted, Packets: t.Packets})
	clear(cells[distinctColumn:packetsColumn])
	clear(cells[packetsColumn+1 : kindColumn])
	return append(cells[:len(cells)-len(topColumns)], strconv.Itoa(t.Rank), t.Value,
		number(t.PacketsLow), rate(t.PacketsShare), number(t.Bytes), number(t.BytesLow), rate(t.BytesShare))
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

func rate(r float64) string { return strconv.FormatFloat(r, 'g', -1, 64) }

func (d *csvLines) record(r *count.Row) []string {
	cells := []string{
		value(r.WindowStart), value(r.WindowEnd), r.Of, r.Family, number(r.Distinct), number(r.Low), number(r.High),
		number(r.Packets), r.Method, strconv.Itoa(r.MemoryBytes), rate(show.Rounded(r.FPR)),
	}
	if d.more.Total || d.more.Top {
		cells = append(cells, r.KindName())
	}
	switch c := r.RowChanges; {
	case d.more.Changes && c != nil:
		for _, n := range []uint64{c.New, c.NewLow, c.NewHigh, c.Returning, c.ReturningLow, c.ReturningHigh, c.Gone, c.GoneLow, c.GoneHigh} {
			cells = append(cells, number(n))
		}
	case d.more.Changes:
		cells = append(cells, make([]string, 9)...)
	}
	if d.more.Sensors {
		cells = append(cells, r.Sensors, strings.Join(r.Missing, " "))
	}
	cells = append(cells, r.Cut.Cut, value(r.SeenFrom), value(r.SeenTo))
	return append(cells, make([]string, len(d.head)-len(cells))...)
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
