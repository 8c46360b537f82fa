// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// HeatMap is a matrix of values between names. The darkest cell has the largest value; the
// others follow the logarithm.
type HeatMap struct {
	Title        string
	Row, Column  string // the meaning of rows and columns
	Rows, Across []string
	Cells        []HeatCell
}

// HeatCell is a value above 0 at a row and a column.
type HeatCell struct {
	Row, Column int
	Value       float64
	Text        string   // in the cell
	More        []string // smaller, below it
}

// The sizes of a drawn cell, and of the most that still has room for a text.
const (
	cellHeight = 42
	widestCell = 110
	leastCell  = 82
	mostName   = 16 // letters of a name
)

// leastScale keeps the texts of a map legible that is wider than the screen: pixels for a unit.
const leastScale = 0.75

// The least and the largest opacity of a cell. Text can be read on all of them, on light and on
// dark screens.
const palest, fullest = 0.06, 0.5

// MostHeat is how many rows, and columns, a heat map has room for.
const MostHeat = 8

// html returns the map as an element for a page. The error wraps [errEmpty] if there are
// no cells. A map that is wider than other pictures scrolls on narrow screens.
func (h HeatMap) html(titled bool) (markup, error) {
	if len(h.Cells) == 0 || len(h.Rows) == 0 || len(h.Across) == 0 {
		return "", fmt.Errorf("chart %q: %w", h.Title, errEmpty)
	}
	names := utf8.RuneCountInString(h.Row)
	for _, name := range h.Rows {
		names = max(names, utf8.RuneCountInString(shorten(name, mostName)))
	}
	l := laidHeat{left: 12 + letter*names}
	l.cell = max(leastCell, min(widestCell, (chartWidth-l.left)/len(h.Across)))
	l.top = top + entry*(1+l.lines(h.Across))
	width := max(chartWidth, l.left+l.cell*len(h.Across))
	var b builder
	if width > chartWidth {
		addScroll(&b, "Picture: "+h.Title, markup(fmt.Sprintf("<div style=\"min-width:%.0fpx;max-width:%dpx\">", leastScale*float64(width), 3*width/2)))
	}
	b.begin(width, l.top+cellHeight*len(h.Rows)+4, h.Title, titled)
	l.addNames(&b, &h)
	l.addCells(&b, &h)
	b.addf("</svg>\n")
	if width > chartWidth {
		b.addf("</div></div>\n")
	}
	return b.markup(), nil
}

// laidHeat is where everything stands.
type laidHeat struct{ left, top, cell int }

// lines returns on how many lines the names above the columns stand. Names that are wider than
// a column take turns.
func (l *laidHeat) lines(names []string) int {
	for _, name := range names {
		if letter*utf8.RuneCountInString(shorten(name, mostName)) > l.cell-6 {
			return min(2, len(names))
		}
	}
	return 1
}

func (l *laidHeat) addNames(b *builder, h *HeatMap) {
	b.addf(`<text class="label end" x="%v" y="%v" dx="-8" dy="-6">%s</text>`, l.left, l.top, h.Row)
	b.addf(`<text class="label" x="%v" y="%v" dx="4">%s</text>`+"\n", l.left, top+12, h.Column)
	lines := l.lines(h.Across)
	for i, name := range h.Across {
		b.addf(`<text x="%v" y="%v">%s</text>`+"\n", l.left+l.cell*i+4, top+entry*(1+i%lines)+14, shorten(name, mostName))
	}
	for i, name := range h.Rows {
		b.addf(`<text class="end" x="%v" y="%v">%s</text>`+"\n", l.left-8, l.top+cellHeight*i+cellHeight/2+4, shorten(name, mostName))
	}
}

func (l *laidHeat) addCells(b *builder, h *HeatMap) {
	most := 0.0
	for _, c := range h.Cells {
		most = max(most, c.Value)
	}
	for _, c := range h.Cells {
		x, y, middle := l.left+l.cell*c.Column, l.top+cellHeight*c.Row, l.left+l.cell*c.Column+l.cell/2
		shade := palest + (fullest-palest)*math.Log1p(c.Value)/math.Log1p(most)
		b.addf(`<g class="cell"><title>%s, %s: %s</title>`, h.Rows[c.Row], h.Across[c.Column], humanize.Commaf(c.Value))
		b.addf(`<rect x="%v" y="%v" width="%v" height="%v" fill-opacity="%v"/>`, x+1, y+1, l.cell-4, cellHeight-4, math.Round(100*shade)/100)
		b.addf(`<text class="middle strong" x="%v" y="%v">%s</text>`, middle-1, y+17, c.Text)
		for i, line := range c.More {
			b.addf(`<text class="middle small" x="%v" y="%v">%s</text>`, middle-1, y+31+12*i, line)
		}
		b.addf("</g>\n")
	}
}
