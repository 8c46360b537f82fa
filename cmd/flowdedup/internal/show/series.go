// SPDX-License-Identifier: Apache-2.0

package show

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

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

// DelayChart draws a histogram of delays.
func DelayChart(title, what string, bins []traits.Bin) page.Chart {
	c := page.Chart{Title: title, X: page.Axis{Label: "delay", Scale: page.Delays}, Y: page.Axis{Label: what, Scale: page.Linear}}
	columns := page.Columns{Name: what}
	for _, b := range bins {
		// A logarithm has no 0: what took less than a nanosecond stands in the first column.
		from := max(float64(b.From), 1)
		columns.List = append(columns.List, page.Column{From: from, To: max(float64(b.To), 1.25*from), Y: float64(b.Count)})
	}
	c.Columns = []page.Columns{columns}
	return c
}

// DelayTable lists the numbers of a histogram of delays.
func DelayTable(what string, bins []traits.Bin) *page.Table {
	t := &page.Table{Name: "Numbers of the chart", Columns: []Column{{Name: "from"}, {Name: "to"}, {Name: what}}}
	for _, b := range bins[:min(len(bins), page.MostRows)] {
		t.Rows = append(t.Rows, []string{Delay(b.From), Delay(b.To), Count(b.Count)})
	}
	return t
}
