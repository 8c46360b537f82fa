package monitor

import (
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// Widths of what is drawn, in columns. Charts narrower than the least tell nothing.
const (
	chartWidth      = historyLength
	leastChartWidth = 10
	barWidth        = 10
	nameWidth       = 26 // longer names lose their beginning
)

// maxRecentLines is how many lines that others wrote a frame shows.
const maxRecentLines = 4

// painter puts text into colours, or leaves it as it is.
type painter bool

var severityColors = [...]text.Colors{plain: nil, faint: {text.Faint}, warn: {text.FgYellow}, bad: {text.Bold, text.FgRed}}

func (p painter) paint(s string, colours text.Colors) string {
	if !p || len(colours) == 0 || s == "" {
		return s
	}
	return colours.Sprint(s)
}

// renderFrame draws a dashboard and the last of some lines into at most height lines that are
// narrower than width: what fills the last column makes some terminals wrap.
func renderFrame(b *dashboard, lines []string, width, height int, p painter) []string {
	lines = lines[max(0, len(lines)-min(maxRecentLines, height/4)):]
	height -= len(lines)
	out := []string{b.title(p)}
	tables := fit(b.Tables, height-1)
	gaps := 1+lineCount(tables)+len(tables) <= height
	for i := range tables {
		if gaps {
			out = append(out, "")
		}
		out = append(out, tables[i].draw(width-1, p)...)
	}
	out = append(out[:min(len(out), max(0, height))], lines...)
	for i := range out {
		out[i] = snip(out[i], width-1)
	}
	return out
}

// title is what runs, for how long, and where.
func (b *dashboard) title(p painter) string {
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

// lineCount is how many lines tables take.
func lineCount(tables []table) int {
	n := 0
	for i := range tables {
		n += 1 + len(tables[i].Rows)
	}
	return n
}

// fit leaves out rows until the tables take at most height lines, or nothing more
// can be left out: of the table with the most to spare, the last row that is not
// alarming.
func fit(tables []table, height int) []table {
	tables = append([]table(nil), tables...)
	for lineCount(tables) > height {
		longest := 0
		for i := range tables {
			if tables[i].spare() > tables[longest].spare() {
				longest = i
			}
		}
		if len(tables) == 0 || tables[longest].spare() <= 0 {
			break
		}
		tables[longest].hide()
	}
	return tables
}

func (t *table) spare() int { return len(t.Rows) - t.Least }

// hide leaves out one row.
func (t *table) hide() {
	at := len(t.Rows) - 1
	for i := at; i >= 0; i-- {
		if !alarming(t.Rows[i]) {
			at = i
			break
		}
	}
	t.Rows = append(append([][]cell(nil), t.Rows[:at]...), t.Rows[at+1:]...)
	t.Hidden++
}

func alarming(cells []cell) bool {
	for i := range cells {
		if cells[i].Severity >= warn {
			return true
		}
	}
	return false
}

// draw lays out the heading and the rows of a table.
func (t *table) draw(width int, paint painter) []string {
	columns := slices.Clone(t.Columns)
	columns[0].Name = t.title()
	rows := make([][]string, len(t.Rows))
	for r, cells := range t.Rows {
		rows[r] = make([]string, len(cells))
		for i := range cells {
			rows[r][i] = cells[i].draw(i == 0, paint)
		}
	}
	lines := show.Table(columns, rows, false)
	t.chart(lines, width, paint)
	lines[0] = paint.paint(lines[0], text.Colors{text.Bold, text.FgCyan})
	return lines
}

// chart draws the series of a table's first rows behind their lines, as far as the
// width goes; the first line is the heading.
func (t *table) chart(lines []string, width int, paint painter) {
	left := 0
	for _, line := range lines {
		left = max(left, text.StringWidthWithoutEscSequences(line)+2)
	}
	columns := min(chartWidth, width-left)
	if columns < leastChartWidth || len(t.Series) == 0 {
		return
	}
	lines[0] = text.Pad(lines[0], left, ' ') + t.Chart
	for i, series := range t.Series {
		lines[i+1] = text.Pad(lines[i+1], left, ' ') + paint.paint(show.Sparkline(series, historyLength, columns), text.Colors{text.FgGreen})
	}
}

// title is the heading of the first column, which says what is missing.
func (t *table) title() string {
	name := t.Columns[0].Name
	if t.Hidden > 0 {
		name += " (" + show.Count(uint64(t.Hidden)) + " more)"
	}
	return name
}

// draw writes a cell.
func (c *cell) draw(name bool, paint painter) string {
	s := c.Text
	if name && text.StringWidth(s) > nameWidth {
		s = truncateStart(s, nameWidth)
	}
	if c.Bar {
		s = show.Bar(c.Share, barWidth) + " " + s
	}
	return paint.paint(s, severityColors[c.Severity])
}

// truncateStart shortens a path to a width, leaving its end.
func truncateStart(s string, width int) string {
	for i := range s {
		if text.StringWidth(s[i:]) < width {
			return "…" + s[i:]
		}
	}
	return "…"
}

// Escape sequences of every terminal of the last decades. The synchronized ones ask
// those that know them to show a frame only when it is whole; others ignore them.
const (
	home       = "\x1b[H"
	eraseRight = "\x1b[K"
	eraseBelow = "\x1b[J"
	beginFrame = "\x1b[?2026h"
	endFrame   = "\x1b[?2026l"
)

// Size of a terminal that does not tell it.
const (
	defaultWidth  = 80
	defaultHeight = 24
)

// screen draws frames on a terminal, each over the one before.
type screen struct {
	terminal *os.File
	begun    bool
}

// draw returns what draws a frame and leaves the cursor on the line below it. Only
// what has changed changes on the screen, since nothing is erased that is written
// again. The size is asked for each time: the terminal may have another by now.
func (s *screen) draw(b *dashboard, lines []string) []byte {
	width, height, err := term.GetSize(int(s.terminal.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = defaultWidth, defaultHeight
	}
	var out strings.Builder
	out.WriteString(beginFrame)
	if !s.begun {
		// What was on the screen before moves up, out of sight but not lost.
		s.begun = true
		out.WriteString(strings.Repeat("\r\n", height-1))
	}
	out.WriteString(home)
	for _, line := range renderFrame(b, lines, width, height-1, true) {
		out.WriteString(line + eraseRight + "\r\n")
	}
	out.WriteString(eraseBelow + endFrame)
	return []byte(out.String())
}
