package monitor

import (
	"math"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// chart draws the series of a panel's first rows behind their lines, as far as the
// width goes; the first line is the heading.
func (p *panel) chart(lines []string, width int, paint painter) {
	left := 0
	for _, line := range lines {
		left = max(left, text.StringWidthWithoutEscSequences(line)+2)
	}
	columns := min(chartWidth, width-left)
	if columns < leastChartWidth || len(p.Series) == 0 {
		return
	}
	lines[0] = text.Pad(lines[0], left, ' ') + p.Chart
	for i, series := range p.Series {
		lines[i+1] = text.Pad(lines[i+1], left, ' ') + paint.paint(sparkline(series, columns), text.Colors{text.FgGreen})
	}
}

// levels are the heights that a line of text can show.
var levels = []rune("▁▂▃▄▅▆▇█")

// sparkline draws a minute of values into at most so many columns, each the mean of
// as many values, the latest at the right.
func sparkline(series []float64, columns int) string {
	each := (remembered + columns - 1) / columns
	columns = remembered / each
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

// bar draws a share.
func bar(share float64) string {
	if math.IsNaN(share) {
		share = 0
	}
	n := int(math.Round(barWidth * max(0, min(1, share))))
	return strings.Repeat("█", n) + strings.Repeat("░", barWidth-n)
}
