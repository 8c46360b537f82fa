// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// Widths in columns. A chart narrower than leastChartWidth shows nothing useful.
const (
	chartWidth      = historyLength
	leastChartWidth = 10
	barWidth        = 10
	nameWidth       = 26 // longer names are cut at the start
)

// maxRecentLines is how many log lines a frame shows.
const maxRecentLines = 4

// painter colors text, or leaves it as it is.
type painter bool

var severityColors = [...]text.Colors{plain: nil, faint: {text.Faint}, warn: {text.FgYellow}, bad: {text.Bold, text.FgRed}}

func (p painter) paint(s string, colors text.Colors) string {
	if !p || len(colors) == 0 || s == "" {
		return s
	}
	return colors.Sprint(s)
}

// renderFrame draws a dashboard and the last log lines into at most height lines. Each is
// narrower than width, because some terminals wrap a line that fills the last column.
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

// title says what runs, for how long, and on which interfaces.
func (b *dashboard) title(p painter) string {
	parts := []string{p.paint("flowdedup live", text.Colors{text.Bold})}
	for _, s := range []string{b.Up, b.Time, b.Interfaces} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "  ")
}

// snip cuts a line to a width.
func snip(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return text.Snip(s, width, "…")
}

// lineCount returns how many lines the tables take.
func lineCount(tables []table) int {
	n := 0
	for i := range tables {
		n += 1 + len(tables[i].Rows)
	}
	return n
}

// fit hides rows until the tables take at most height lines, or until no row can be
// hidden. It takes the table with the most rows to spare, and there the last row without
// an alarm.
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

// hide hides one row.
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

// draw returns the heading and the rows of a table.
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
	lines := show.Table(columns, rows, 0)
	t.chart(lines, width, paint)
	lines[0] = paint.paint(lines[0], text.Colors{text.Bold, text.FgCyan})
	return lines
}

// chart draws the series of the first rows to the right of their lines, where the width
// allows it. The first line is the heading.
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

// title returns the heading of the first column, with the number of hidden rows.
func (t *table) title() string {
	name := t.Columns[0].Name
	if t.Hidden > 0 {
		name += " (" + show.Count(uint64(t.Hidden)) + " more)"
	}
	return name
}

// draw returns the text of a cell. A cell with a name is cut to nameWidth.
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

// truncateStart cuts a path to a width and keeps its end.
func truncateStart(s string, width int) string {
	for i := range s {
		if text.StringWidth(s[i:]) < width {
			return "…" + s[i:]
		}
	}
	return "…"
}

// Escape sequences that every terminal of the last decades knows. beginFrame and endFrame
// make newer terminals show a frame only when it is complete; others ignore them.
const (
	home       = "\x1b[H"
	eraseRight = "\x1b[K"
	eraseBelow = "\x1b[J"
	beginFrame = "\x1b[?2026h"
	endFrame   = "\x1b[?2026l"
)

// The assumed size of a terminal that reports none.
const (
	defaultWidth  = 80
	defaultHeight = 24
)

// screen draws frames on a terminal, each over the previous frame.
type screen struct {
	terminal *os.File
	begun    bool
}

// draw returns the bytes that draw a frame and leave the cursor on the line below it. It
// overwrites the previous frame without erasing it, so unchanged text does not flicker.
// It asks for the size each time, because the user may have resized the terminal.
func (s *screen) draw(b *dashboard, lines []string) []byte {
	width, height, err := term.GetSize(int(s.terminal.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = defaultWidth, defaultHeight
	}
	var out strings.Builder
	out.WriteString(beginFrame)
	if !s.begun {
		// Scroll the old content up, so that it stays in the scrollback.
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
