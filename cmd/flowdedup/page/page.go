package page

import (
	_ "embed" // for the page and its style
	"errors"
	"html/template"
	"io"
	"sync"
)

// Page is what a page says, from top to bottom.
type Page struct {
	Title string // what was run
	Lead  []string
	// Command, if any, is what to run, with Because its reasons.
	Command  string
	Because  []string
	Facts    []Fact
	Sections []Section
}

// Fact is a number, or a few words, with its name.
type Fact struct{ Name, Value string }

// Wide reports whether the value needs a line of its own.
func (f Fact) Wide() bool { return len(f.Value) > 32 }

// Section is a picture with its caption and its numbers. Each of them may be absent.
type Section struct {
	Heading string
	// Pictures are left out where there is nothing to draw.
	Pictures []Picture
	Caption  string
	Table    *Table
	Text     []string
}

// Picture is a Chart, Bars or a HeatMap.
type Picture interface{ HTML() (template.HTML, error) }

// TableColumn is a column of a table.
type TableColumn struct {
	Name string
	Left bool // its cells are text, not numbers
}

// Table is a table of texts.
type Table struct {
	Columns []TableColumn
	Rows    [][]string
	// Class returns the style of a row: best, fails or nothing. It may be nil.
	Class func(row int) string
	// More says what the table leaves out.
	More string
}

// MostRows is how many rows of a table keep a page small.
const MostRows = 400

// ErrEmpty is returned for a picture without anything to draw.
var ErrEmpty = errors.New("nothing to draw")

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

// pageTemplate is parsed on first use, because most runs write no page.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
})

// drawnSection is a section with its pictures.
type drawnSection struct {
	Heading, Caption string
	Drawn            []template.HTML
	Columns          []TableColumn
	Rows             []drawnRow
	More             string
	Text             []string
}

type drawnRow struct {
	Class string
	Cells []string
}

// Write writes the page. Errors are those of w.
func (p *Page) Write(w io.Writer) error {
	data := struct {
		*Page
		Style template.CSS
		Drawn []drawnSection
	}{Page: p, Style: template.CSS(pageStyle)}
	for i := range p.Sections {
		s, err := p.Sections[i].draw()
		if err != nil {
			return err
		}
		data.Drawn = append(data.Drawn, s)
	}
	return pageTemplate().Execute(w, data)
}

func (s *Section) draw() (drawnSection, error) {
	d := drawnSection{Heading: s.Heading, Caption: s.Caption, Text: s.Text}
	for _, picture := range s.Pictures {
		svg, err := picture.HTML()
		if errors.Is(err, ErrEmpty) {
			continue
		}
		if err != nil {
			return d, err
		}
		d.Drawn = append(d.Drawn, svg)
	}
	if t := s.Table; t != nil {
		d.Columns, d.More = t.Columns, t.More
		for i, cells := range t.Rows {
			row := drawnRow{Cells: cells}
			if t.Class != nil {
				row.Class = t.Class(i)
			}
			d.Rows = append(d.Rows, row)
		}
	}
	return d, nil
}
