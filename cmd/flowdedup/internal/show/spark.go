package show

import (
	"math"
	"strings"
)

// levels are the heights that a line of text can show.
var levels = []rune("▁▂▃▄▅▆▇█")

// Sparkline draws the latest values of a series, of which there are most at most, into at
// most so many columns. Each is the mean of as many values, the latest at the right.
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

// Bar draws a share of 0 to 1 in so many columns.
func Bar(share float64, width int) string {
	if math.IsNaN(share) {
		share = 0
	}
	n := int(math.Round(float64(width) * max(0, min(1, share))))
	return strings.Repeat("█", n) + strings.Repeat("░", width-n)
}
