package rivals

import (
	"cmp"
	"slices"
)

// pareto returns the points that none beats: no other is lower in one coordinate
// without being higher in the other. They come in the order of rising x.
func pareto(x, y []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(x[a], x[b]), cmp.Compare(y[a], y[b]))
	})
	var front []int
	for _, i := range order {
		if len(front) > 0 {
			last := front[len(front)-1]
			if y[i] > y[last] || y[i] == y[last] && x[i] > x[last] {
				continue
			}
		}
		front = append(front, i)
	}
	return front
}
