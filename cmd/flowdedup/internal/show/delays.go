// SPDX-License-Identifier: Apache-2.0

package show

import (
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

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
