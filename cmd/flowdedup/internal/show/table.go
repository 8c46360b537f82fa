package show

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Column is a column of a table.
type Column struct {
	Name string
	Left bool // its cells are text, not numbers
}

// Table lays rows out below the names of columns, and returns the lines: with borders, or
// with two spaces between columns and nothing else. Cells may hold escape sequences of
// colours.
func Table(columns []Column, rows [][]string, borders bool) []string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	if !borders {
		t.SetStyle(borderless)
	}
	t.Style().Format.Header = text.FormatDefault
	head := make(table.Row, len(columns))
	configs := make([]table.ColumnConfig, len(columns))
	for i, c := range columns {
		head[i] = c.Name
		configs[i] = table.ColumnConfig{Number: i + 1}
		if !c.Left {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(configs)
	for _, cells := range rows {
		row := make(table.Row, len(cells))
		for i, cell := range cells {
			row[i] = cell
		}
		t.AppendRow(row)
	}
	lines := strings.Split(t.Render(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

var borderless = func() table.Style {
	s := table.StyleDefault
	s.Options = table.OptionsNoBordersAndSeparators
	s.Box.PaddingLeft, s.Box.PaddingRight = "", "  "
	return s
}()
