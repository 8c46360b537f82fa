// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	_ "embed" // for the style
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
)

//go:embed page.css
var pageStyle page.Markup

// pageData is the content of the page.
type pageData struct {
	*dashboard
	Health web.Health
	Rates  rateChart
}

// rateChart is a chart of the last minute: areas below polylines, in a box of
// historyLength by rateHeight.
type rateChart struct {
	Width, Height       int
	Packets, Duplicates string // points
	Top                 string // the rate at the upper edge, "" for no chart
}

const rateHeight = 100

// writePage writes a self-contained page.
func (s *Server) writePage(w io.Writer) error {
	h := s.health()
	s.mu.Lock()
	data := pageData{dashboard: newDashboard(&s.history), Health: h, Rates: chartOf(&s.history)}
	s.mu.Unlock()
	_, err := io.WriteString(w, string(data.markup()))
	return err
}

func (d *pageData) markup() page.Markup {
	var b page.Builder
	title := "flowdedup live"
	if d.Interfaces != "" {
		title += " " + d.Interfaces
	}
	b.Addf(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<style>
%s</style>
</head>
<body>
<header><h1>flowdedup live</h1>`, title, pageStyle)
	if d.Interfaces != "" {
		b.Addf("<b>%s</b>", d.Interfaces)
	}
	b.Addf(`<span>%s</span><span>%s</span><a href="/metrics">metrics</a>`, d.Up, d.Time)
	b.Addf(`<a href="/healthz" class="state %s">%[1]s</a></header>`+"\n", d.Health.Status)
	if len(d.Health.Reasons) > 0 {
		b.Addf("<ul class=\"reasons\">\n")
		for _, reason := range d.Health.Reasons {
			b.Addf("<li class=\"bad\">%s</li>\n", reason)
		}
		b.Addf("</ul>\n")
	}
	if d.Rates.Top != "" {
		d.Rates.addTo(&b)
	}
	for i := range d.Tables {
		d.Tables[i].addTo(&b)
	}
	b.Addf("</body>\n</html>\n")
	return b.Markup()
}

func (c *rateChart) addTo(b *page.Builder) {
	b.Addf(`<figure>
<figcaption><b class="packets">packets</b><b class="copies">duplicates</b><span>last minute</span><span class="top">%s</span></figcaption>
<svg viewBox="0 0 %v %v" preserveAspectRatio="none" role="img" aria-label="packets and duplicates a second, last minute">
<polygon points="%s" class="packets"/>
<polygon points="%s" class="copies"/>
</svg>
</figure>
`, c.Top, c.Width, c.Height, c.Packets, c.Duplicates)
}

func (t *table) addTo(b *page.Builder) {
	b.Addf("<section>")
	page.Heads(b, t.Columns)
	for _, row := range t.Rows {
		b.Addf("<tr>")
		for i, c := range row {
			class := c.Severity.String()
			if t.Columns[i].Left {
				class += " left"
			}
			b.Addf(`<td class="%s">`, class)
			if c.Bar {
				b.Addf(`<meter min="0" max="1" value="%v"></meter>`, c.Share)
			}
			b.Addf("%s</td>", c.Text)
		}
		b.Addf("</tr>\n")
	}
	b.Addf("</tbody>\n</table></section>\n")
}

// chartOf draws the rates of packets and of duplicates.
func chartOf(h *history) rateChart {
	packets := h.series(func(r rate) float64 { return r.packets })
	if len(packets) < 2 {
		return rateChart{}
	}
	top := slices.Max(packets)
	return rateChart{
		Width: historyLength - 1, Height: rateHeight,
		Packets:    area(packets, top),
		Duplicates: area(h.series(func(r rate) float64 { return r.duplicates }), top),
		Top:        show.PerSecond(top, ""),
	}
}

// area returns the corners of the area below a line. The line ends at the right edge.
func area(series []float64, top float64) string {
	if top <= 0 {
		top = 1
	}
	var out strings.Builder
	left := historyLength - len(series)
	fmt.Fprintf(&out, "%d,%d", left, rateHeight)
	for i, v := range series {
		fmt.Fprintf(&out, " %d,%.1f", left+i, rateHeight*(1-v/top))
	}
	fmt.Fprintf(&out, " %d,%d", historyLength-1, rateHeight)
	return out.String()
}
