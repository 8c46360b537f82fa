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
		// Delays below a nanosecond are not distinguished, and a logarithm has no 0.
		columns.List = append(columns.List, page.Column{From: max(float64(b.From), 0.5), To: float64(b.To), Y: float64(b.Count)})
	}
	c.Columns = []page.Columns{columns}
	return c
}
