package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

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

// SightingText writes a first sighting for people, on a line of its own.
func SightingText(w io.Writer, s *distinct.Sighting) error {
	_, err := fmt.Fprintf(w, "%s\t%s\t%s\n", value(s.FirstSeen), s.Of, s.Value)
	return err
}
