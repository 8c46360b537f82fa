// SPDX-License-Identifier: Apache-2.0

package show

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// Column is a column of a table, here as on pages.
type Column = page.TableColumn

// gap separates the columns of a table.
const gap = 2

// Table returns the lines of a table with the names of columns above the rows, and two spaces
// between columns. Cells may contain escape sequences of colors. If most is not 0, it is the
// largest width of lines: names and texts continue on lines of their own, and if that is not
// enough, the last columns are left out and named below.
func Table(columns []Column, rows [][]string, most int) []string {
	limits := naturalWidths(columns, rows)
	shown := len(columns)
	if most > 0 {
		shown = narrow(limits, columns, rows, most)
	}
	lines := render(columns[:shown], rows, limits)
	if shown < len(columns) {
		var names []string
		for _, c := range columns[shown:] {
			names = append(names, cmp.Or(c.Name, "a column"))
		}
		lines = append(lines, strings.Split(Wrap("too narrow for "+strings.Join(names, ", "), 2, most), "\n")...)
	}
	return lines
}

// render draws columns that are at most so wide.
func render(columns []Column, rows [][]string, limits []int) []string {
	t := table.NewWriter()
	t.SetStyle(plainStyle)
	head := make(table.Row, len(columns))
	configs := make([]table.ColumnConfig, len(columns))
	for i, c := range columns {
		head[i] = c.Name
		configs[i] = table.ColumnConfig{Number: i + 1, WidthMax: limits[i], WidthMaxEnforcer: text.WrapSoft, VAlignHeader: text.VAlignBottom}
		if !c.Left {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(configs)
	for _, cells := range rows {
		row := make(table.Row, len(columns))
		for i := range columns {
			row[i] = cells[i]
		}
		t.AppendRow(row)
	}
	lines := strings.Split(t.Render(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

var plainStyle = func() table.Style {
	s := table.StyleDefault
	s.Options = table.OptionsNoBordersAndSeparators
	s.Box.PaddingLeft, s.Box.PaddingRight = "", strings.Repeat(" ", gap)
	s.Format.Header = text.FormatDefault
	return s
}()

// naturalWidths returns the width of each column, 1 at least.
func naturalWidths(columns []Column, rows [][]string) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = max(1, text.StringWidth(c.Name), widestCell(rows, i))
	}
	return widths
}

func widestCell(rows [][]string, column int) (widest int) {
	for _, cells := range rows {
		widest = max(widest, text.StringWidthWithoutEscSequences(cells[column]))
	}
	return widest
}

// leastText is the width that columns of text keep.
const leastText = 8

// narrow lowers widths until the table fits, and returns how many of its columns do. Names of
// numbers shrink first: they take a second line, but no row does.
func narrow(widths []int, columns []Column, rows [][]string, most int) (shown int) {
	least := make([]int, len(columns))
	for i, c := range columns {
		if least[i] = min(widths[i], leastText); !c.Left {
			least[i] = max(1, widestCell(rows, i), widestWord(c.Name))
		}
	}
	for _, text := range []bool{false, true} {
		for excess := total(widths) - most; excess > 0; excess-- {
			at := -1
			for i := range widths {
				if columns[i].Left == text && widths[i] > least[i] && (at < 0 || widths[i] > widths[at]) {
					at = i
				}
			}
			if at < 0 {
				break
			}
			widths[at]--
		}
	}
	shown = len(columns)
	for shown > 1 && total(widths[:shown]) > most {
		shown--
	}
	return shown
}

// total returns the width of a table.
func total(widths []int) int {
	sum := -gap
	for _, w := range widths {
		sum += w + gap
	}
	return sum
}

func widestWord(name string) (widest int) {
	for _, word := range strings.Fields(name) {
		widest = max(widest, text.StringWidth(word))
	}
	return widest
}

// MaxRows is how many rows of a table are shown. The others are in --json.
const MaxRows = 20

// Fact adds a line with a name and a text. It adds nothing without a text.
func (t *Text) Fact(name, text string) {
	if text != "" {
		fmt.Fprintf(t, "  %-11s %s\n", name, text)
	}
}

// Table adds the first MaxRows rows of a table behind an empty line, and the number of the others.
// It adds nothing without rows.
func (t *Text) Table(columns []Column, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	const margin = "  "
	most := 0
	if t.columns > 0 {
		most = max(1, t.columns-len(margin))
	}
	t.WriteByte('\n')
	for _, line := range Table(columns, rows[:min(len(rows), MaxRows)], most) {
		t.WriteString(margin + line + "\n")
	}
	if more := len(rows) - MaxRows; more > 0 {
		fmt.Fprintf(t, "%sand %s more: see --json\n", margin, Count(uint64(more)))
	}
}
