// SPDX-License-Identifier: Apache-2.0

package show

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
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
