package page

import (
	"bytes"
	_ "embed" // for the drawing
	"fmt"
	"html/template"
	"math"
	"sync"
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

//go:embed heat.svg
var heatText string

var heatDrawing = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("heat").Parse(heatText))
})

// The sizes of a drawn cell, and of the most that still has room for a text.
const (
	cellHeight = 46
	widestCell = 120
	leastCell  = 66
)

// MostHeat is how many rows, and columns, a heat map has room for.
const MostHeat = 8

// laidHeat is the data of the template.
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

// HTML returns the map as an element for a page. The error wraps [ErrEmpty] if there are
// no cells.
func (h HeatMap) HTML() (template.HTML, error) {
	if len(h.Cells) == 0 || len(h.Rows) == 0 || len(h.Across) == 0 {
		return "", fmt.Errorf("chart %q: %w", h.Title, ErrEmpty)
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
	var out bytes.Buffer
	if err := heatDrawing().Execute(&out, l); err != nil {
		return "", fmt.Errorf("chart %q: %w", h.Title, err)
	}
	return template.HTML(out.String()), nil // the template has escaped the names
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
