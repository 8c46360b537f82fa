package result

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Markdown returns the table as a section. Charts are linked by their file names
// below folder; with an empty one they are left out.
func (t Table) Markdown(folder string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n\n%s\n\n", t.Name, t.Title, t.Setting)
	if len(t.Rows) > 0 {
		b.WriteString(t.grid())
	}
	for _, note := range t.Notes {
		fmt.Fprintf(&b, "- %s\n", note)
	}
	if len(t.Notes) > 0 {
		b.WriteString("\n")
	}
	if folder != "" {
		for _, p := range t.Charts {
			fmt.Fprintf(&b, "![%s](%s/%s.svg)\n\n", p.Chart.Title, folder, p.File)
		}
	}
	return b.String()
}

func (t Table) grid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %s |\n", t.Corner, strings.Join(t.Columns, " | "))
	b.WriteString("|---|" + strings.Repeat("---|", len(t.Columns)) + "\n")
	for _, row := range t.Rows {
		fmt.Fprintf(&b, "| %s |", row.Name)
		for _, cell := range row.Cells {
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	if summary := t.Summary(); summary != "" {
		b.WriteString(summary + "\n\n")
	}
	return b.String()
}

// String returns "printed → ours (difference)", or ours alone.
func (c Cell) String() string {
	switch {
	case c.Blank:
		return ""
	case !c.HasPrinted():
		return c.ours()
	}
	text := number(c.Printed) + " → " + c.ours()
	if d := c.Difference(); !math.IsNaN(d) {
		text += fmt.Sprintf(" (%+.1f %%)", 100*d)
	}
	return text
}

// ours returns our number, with its spread in the units of its last digit.
func (c Cell) ours() string {
	text := number(c.Ours)
	if c.Spread > 0 {
		decimals := 0
		if _, after, found := strings.Cut(text, "."); found {
			decimals = len(after)
		}
		text += " ± " + strconv.FormatFloat(c.Spread, 'f', decimals, 64)
	}
	return text + c.suffix()
}

func (c Cell) suffix() string {
	if c.Unit == "" {
		return ""
	}
	return " " + c.Unit
}

// number prints four significant digits, and whole numbers up to a million in
// full.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e6 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	if a := math.Abs(v); a >= 1e-4 && a < 1e6 {
		decimals := max(0, 3-int(math.Floor(math.Log10(a))))
		return strconv.FormatFloat(v, 'f', decimals, 64)
	}
	return strconv.FormatFloat(v, 'e', 3, 64)
}

// jsonTable and what is below it give JSON its names. Numbers that JSON cannot
// hold, NaN and infinities, are null.
type jsonTable struct {
	Name     string     `json:"name"`
	Title    string     `json:"title"`
	Setting  string     `json:"setting"`
	FullSize bool       `json:"full_size"`
	Seconds  float64    `json:"seconds"`
	Cells    []jsonCell `json:"cells"`
	Notes    []string   `json:"notes"`
}

type jsonCell struct {
	Row        string   `json:"row"`
	Column     string   `json:"column"`
	Unit       string   `json:"unit,omitempty"`
	Paper      *float64 `json:"paper"`
	Ours       *float64 `json:"ours"`
	Difference *float64 `json:"relative_difference"`
}

// WriteJSON writes the tables as one array, a cell for each number.
func WriteJSON(w io.Writer, tables []Table) error {
	all := make([]jsonTable, 0, len(tables))
	for _, t := range tables {
		all = append(all, t.json())
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(all)
}

func (t Table) json() jsonTable {
	out := jsonTable{
		Name: t.Name, Title: t.Title, Setting: t.Setting, FullSize: t.FullSize, Seconds: t.Seconds,
		Cells: []jsonCell{}, Notes: append([]string{}, t.Notes...),
	}
	for _, row := range t.Rows {
		for i, cell := range row.Cells {
			if cell.Blank {
				continue
			}
			out.Cells = append(out.Cells, jsonCell{
				Row: row.Name, Column: t.Columns[i], Unit: cell.Unit,
				Paper: finite(cell.Printed), Ours: finite(cell.Ours), Difference: finite(cell.Difference()),
			})
		}
	}
	return out
}

func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
