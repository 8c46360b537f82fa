// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// HeatMap is a matrix of values between names. The darkest cell has the largest value; the
// others follow the logarithm.
type HeatMap struct {
	Title        string
	Row, Column  string // what rows and columns are
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
	cellHeight = 46
	widestCell = 120
	leastCell  = 66
)

// MostHeat is how many rows, and columns, a heat map has room for.
const MostHeat = 8

// laidHeat is where everything stands.
type laidHeat struct {
	Title, Row, Column string
	Width, Height      int
	Left, Top, Cell    int
	Rows, Across       []laidName
	Cells              []laidCell
}

type laidName struct {
	X, Y int
	Name string
}

type laidCell struct {
	X, Y, Wide, High, Middle int
	Shade                    float64 // from 0 to 1
	Dark                     bool    // the text must be light
	Text                     string
	More                     []laidName
}

// HTML returns the map as an element for a page. The error wraps errEmpty if there are
// no cells.
func (h HeatMap) HTML() (Markup, error) {
	if len(h.Cells) == 0 || len(h.Rows) == 0 || len(h.Across) == 0 {
		return "", fmt.Errorf("chart %q: %w", h.Title, errEmpty)
	}
	names := utf8.RuneCountInString(h.Row)
	for _, name := range h.Rows {
		names = max(names, utf8.RuneCountInString(cut(name)))
	}
	l := laidHeat{Title: h.Title, Row: h.Row, Column: h.Column, Width: chartWidth, Left: 12 + letter*names}
	l.Cell = max(leastCell, min(widestCell, (chartWidth-l.Left)/len(h.Across)))
	l.Width = max(chartWidth, l.Left+l.Cell*len(h.Across))
	l.Top = top + 20*(1+l.nameColumns(h.Across))
	for i, name := range h.Rows {
		l.Rows = append(l.Rows, laidName{l.Left - 8, l.Top + cellHeight*i + cellHeight/2 + 4, cut(name)})
	}
	l.Height = l.Top + cellHeight*len(h.Rows) + 8
	l.place(h.Cells)
	return l.markup(), nil
}

func (l *laidHeat) markup() Markup {
	var b Builder
	b.Addf(chartStart, l.Width, l.Height, l.Title)
	b.Addf(chartTitle, 0, l.Title)
	b.Addf(`<text class="label end" x="%v" y="%v" dx="-8" dy="-6">%s</text>`, l.Left, l.Top, l.Row)
	b.Addf(`<text class="label" x="%v" y="54" dx="4" dy="-4">%s</text>`+"\n", l.Left, l.Column)
	for _, name := range l.Across {
		b.Addf(`<text x="%v" y="%v">%s</text>`+"\n", name.X, name.Y, name.Name)
	}
	for _, name := range l.Rows {
		b.Addf(`<text class="end" x="%v" y="%v">%s</text>`+"\n", name.X, name.Y, name.Name)
	}
	for _, c := range l.Cells {
		c.addTo(&b)
	}
	b.Addf("</svg>\n")
	return b.Markup()
}

func (c *laidCell) addTo(b *Builder) {
	class := "cell"
	if c.Dark {
		class += " dark"
	}
	b.Addf(`<g class="%s"><rect x="%v" y="%v" width="%v" height="%v" fill-opacity="%v"/>`, class, c.X, c.Y, c.Wide, c.High, c.Shade)
	b.Addf(`<text class="middle" x="%v" y="%v" dy="18">%s</text>`, c.Middle, c.Y, c.Text)
	for _, line := range c.More {
		b.Addf(`<text class="middle small" x="%v" y="%v">%s</text>`, line.X, line.Y, line.Name)
	}
	b.Addf("</g>\n")
}

// nameColumns places the names above the columns, and returns on how many lines. Names
// that are wider than a column stand on lines of their own.
func (l *laidHeat) nameColumns(names []string) int {
	lines := 1
	for _, name := range names {
		if letter*utf8.RuneCountInString(cut(name)) > l.Cell-6 {
			lines = len(names)
		}
	}
	for i, name := range names {
		l.Across = append(l.Across, laidName{l.Left + l.Cell*i + 4, top + 20*(1+i%lines) + 14, cut(name)})
	}
	return lines
}

func (l *laidHeat) place(cells []HeatCell) {
	most := 0.0
	for _, c := range cells {
		most = max(most, c.Value)
	}
	for _, c := range cells {
		shade := 0.15 + 0.85*math.Log1p(c.Value)/math.Log1p(most)
		d := laidCell{
			X: l.Left + l.Cell*c.Column, Y: l.Top + cellHeight*c.Row, Wide: l.Cell - 2, High: cellHeight - 2, Middle: l.Left + l.Cell*c.Column + l.Cell/2,
			Shade: math.Round(100*shade) / 100, Dark: shade > 0.55, Text: c.Text,
		}
		for i, line := range c.More {
			d.More = append(d.More, laidName{d.Middle, d.Y + 31 + 12*i, line})
		}
		l.Cells = append(l.Cells, d)
	}
}
