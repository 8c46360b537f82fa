package monitor

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Widths of what is drawn, in columns. Charts narrower than the least tell nothing.
const (
	chartWidth      = remembered
	leastChartWidth = 10
	barWidth        = 10
	nameWidth       = 26 // longer names lose their beginning
)

// most is how many lines that others wrote a frame shows.
const most = 4

// painter puts text into colours, or leaves it as it is.
type painter bool

var colours = [...]text.Colors{plain: nil, faint: {text.Faint}, warn: {text.FgYellow}, bad: {text.Bold, text.FgRed}}

func (p painter) paint(s string, colours text.Colors) string {
	if !p || len(colours) == 0 || s == "" {
		return s
	}
	return colours.Sprint(s)
}

// frame draws a board and the last of some lines into at most height lines that are
// narrower than width: what fills the last column makes some terminals wrap.
func frame(b *board, lines []string, width, height int, p painter) []string {
	lines = lines[max(0, len(lines)-min(most, height/4)):]
	height -= len(lines)
	out := []string{b.title(p)}
	panels := fit(b.Panels, height-1)
	gaps := 1+needed(panels)+len(panels) <= height
	for i := range panels {
		if gaps {
			out = append(out, "")
		}
		out = append(out, panels[i].draw(width-1, p)...)
	}
	out = append(out[:min(len(out), max(0, height))], lines...)
	for i := range out {
		out[i] = snip(out[i], width-1)
	}
	return out
}

// title is what runs, for how long, and where.
func (b *board) title(p painter) string {
	parts := []string{p.paint("flowdedup live", text.Colors{text.Bold})}
	for _, s := range []string{b.Up, b.Time, b.Interfaces} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "  ")
}

// snip shortens a line to a width.
func snip(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return text.Snip(s, width, "…")
}

// needed is how many lines panels take.
func needed(panels []panel) int {
	n := 0
	for i := range panels {
		n += 1 + len(panels[i].Rows)
	}
	return n
}

// fit leaves out rows until the panels take at most height lines, or nothing more
// can be left out: of the panel with the most to spare, the last row that is not
// alarming.
func fit(panels []panel, height int) []panel {
	panels = append([]panel(nil), panels...)
	for needed(panels) > height {
		longest := 0
		for i := range panels {
			if panels[i].spare() > panels[longest].spare() {
				longest = i
			}
		}
		if len(panels) == 0 || panels[longest].spare() <= 0 {
			break
		}
		panels[longest].hide()
	}
	return panels
}

func (p *panel) spare() int { return len(p.Rows) - p.Least }

// hide leaves out one row.
func (p *panel) hide() {
	at := len(p.Rows) - 1
	for i := at; i >= 0; i-- {
		if !alarming(p.Rows[i]) {
			at = i
			break
		}
	}
	p.Rows = append(append([][]cell(nil), p.Rows[:at]...), p.Rows[at+1:]...)
	p.Hidden++
}

func alarming(cells []cell) bool {
	for i := range cells {
		if cells[i].Mood >= warn {
			return true
		}
	}
	return false
}

// draw lays out the heading and the rows of a panel.
func (p *panel) draw(width int, paint painter) []string {
	t := table.NewWriter()
	t.SetStyle(borderless)
	heading := make(table.Row, len(p.Columns))
	configs := make([]table.ColumnConfig, len(p.Columns))
	for i, c := range p.Columns {
		heading[i] = c.Name
		configs[i] = table.ColumnConfig{Number: i + 1}
		if !c.Left {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	heading[0] = p.title()
	t.AppendHeader(heading)
	t.SetColumnConfigs(configs)
	for _, cells := range p.Rows {
		row := make(table.Row, len(cells))
		for i := range cells {
			row[i] = cells[i].draw(i == 0, paint)
		}
		t.AppendRow(row)
	}
	lines := strings.Split(t.Render(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	p.chart(lines, width, paint)
	lines[0] = paint.paint(lines[0], text.Colors{text.Bold, text.FgCyan})
	return lines
}

// title is the heading of the first column, which says what is missing.
func (p *panel) title() string {
	name := p.Columns[0].Name
	if p.Hidden > 0 {
		name += " (" + count(uint64(p.Hidden)) + " more)"
	}
	return name
}

// borderless has two spaces between columns and nothing else.
var borderless = func() table.Style {
	s := table.StyleDefault
	s.Options = table.OptionsNoBordersAndSeparators
	s.Box.PaddingLeft, s.Box.PaddingRight = "", "  "
	s.Format.Header = text.FormatDefault
	return s
}()

// draw writes a cell.
func (c *cell) draw(name bool, paint painter) string {
	s := c.Text
	if name && text.StringWidth(s) > nameWidth {
		s = ending(s, nameWidth)
	}
	if c.Bar {
		s = bar(c.Share) + " " + s
	}
	return paint.paint(s, colours[c.Mood])
}

// ending shortens a path to a width, leaving its end.
func ending(s string, width int) string {
	for i := range s {
		if text.StringWidth(s[i:]) < width {
			return "…" + s[i:]
		}
	}
	return "…"
}
