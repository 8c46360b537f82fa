package result

import (
	"encoding/json"
	"io"
	"math"
)

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
