// SPDX-License-Identifier: Apache-2.0

package show

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// Column is a column of a table, here as on pages.
type Column = page.TableColumn

// Table returns the lines of a table with the names of columns above the rows. Without
// borders, two spaces separate columns. Cells may contain escape sequences of colors.
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

// MaxRows is how many rows of a table are shown. The others are in --json.
const MaxRows = 20

// WriteTable adds the first MaxRows rows of a table without borders to out, behind an
// empty line, and says how many more there are.
func WriteTable(out *strings.Builder, columns []Column, rows [][]string) {
	out.WriteByte('\n')
	more := len(rows) - MaxRows
	for _, line := range Table(columns, rows[:min(len(rows), MaxRows)], false) {
		fmt.Fprintf(out, "  %s\n", strings.TrimRight(line, " "))
	}
	if more > 0 {
		fmt.Fprintf(out, "  and %s more: see --json\n", Count(uint64(more)))
	}
}

// Largest returns the keys of counts, the largest count first, then by key.
func Largest[K cmp.Ordered](counts map[K]uint64) []K {
	return slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// Total returns the sum of counts.
func Total[K comparable](counts map[K]uint64) (sum uint64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// levels are the heights that one line of text can show.
var levels = []rune("▁▂▃▄▅▆▇█")

// Sparkline draws the latest values of a series in at most columns columns. most is the
// largest possible number of values. Each column is the mean of equally many values, the
// latest at the right.
func Sparkline(series []float64, most, columns int) string {
	each := (most + columns - 1) / columns
	columns = most / each
	out := []rune(strings.Repeat(" ", columns))
	top := 0.0
	for _, v := range series {
		top = max(top, v)
	}
	for i := columns - 1; i >= 0 && len(series) > 0; i-- {
		n := min(each, len(series))
		out[i] = level(mean(series[len(series)-n:]), top)
		series = series[:len(series)-n]
	}
	return string(out)
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func level(v, top float64) rune {
	if top <= 0 {
		return levels[0]
	}
	return levels[min(len(levels)-1, int(v/top*float64(len(levels))))]
}

// Bar draws a share from 0 to 1 in width columns.
func Bar(share float64, width int) string {
	if math.IsNaN(share) {
		share = 0
	}
	n := int(math.Round(float64(width) * max(0, min(1, share))))
	return strings.Repeat("█", n) + strings.Repeat("░", width-n)
}
