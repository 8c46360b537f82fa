// SPDX-License-Identifier: Apache-2.0

package page

import (
	_ "embed" // for the style
	"errors"
	"fmt"
	"html"
	"io"
	"strings"
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

// wide reports whether the value needs a line of its own.
func (f Fact) wide() bool { return len(f.Value) > 32 }

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
type Picture interface{ HTML() (Markup, error) }

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

// errEmpty is returned for a picture without anything to draw.
var errEmpty = errors.New("nothing to draw")

//go:embed page.css
var pageStyle Markup

// Write writes the page. Errors are those of w.
func (p *Page) Write(w io.Writer) error {
	var b Builder
	b.Addf(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>%s</title>
<style>
%s</style>
</head>
<body>
<h1>%[1]s</h1>
`, p.Title, pageStyle)
	for _, line := range p.Lead {
		b.Addf("<p class=\"lead\">%s</p>\n", line)
	}
	p.facts(&b)
	p.advice(&b)
	for i := range p.Sections {
		if err := p.Sections[i].addTo(&b); err != nil {
			return err
		}
	}
	b.Addf("</body>\n</html>\n")
	_, err := io.WriteString(w, string(b.Markup()))
	return err
}

func (p *Page) facts(b *Builder) {
	if len(p.Facts) == 0 {
		return
	}
	b.Addf("<dl>\n")
	for _, f := range p.Facts {
		b.Addf("<div%s><dt>%s</dt><dd>%s</dd></div>\n", class("wide", f.wide()), f.Name, f.Value)
	}
	b.Addf("</dl>\n")
}

func (p *Page) advice(b *Builder) {
	if len(p.Because) == 0 {
		return
	}
	b.Addf("<section class=\"advice\">\n")
	if p.Command != "" {
		b.Addf("<pre>%s</pre>\n", p.Command)
	}
	b.Addf("<ul>\n")
	for _, reason := range p.Because {
		b.Addf("<li>%s</li>\n", reason)
	}
	b.Addf("</ul>\n</section>\n")
}

// class returns the attribute of an element that has, or has not, a style.
func class(name string, has bool) Markup {
	if !has {
		return ""
	}
	return Markup(` class="` + name + `"`)
}

func (s *Section) addTo(b *Builder) error {
	b.Addf("<section>\n")
	if s.Heading != "" {
		b.Addf("<h2>%s</h2>\n", s.Heading)
	}
	if err := s.figure(b); err != nil {
		return err
	}
	if s.Table != nil && len(s.Table.Columns) > 0 {
		s.Table.addTo(b)
	}
	for _, line := range s.Text {
		b.Addf("<p>%s</p>\n", line)
	}
	b.Addf("</section>\n")
	return nil
}

// figure adds the pictures that have anything to draw, with their caption.
func (s *Section) figure(b *Builder) error {
	var drawn []Markup
	for _, picture := range s.Pictures {
		svg, err := picture.HTML()
		if errors.Is(err, errEmpty) {
			continue
		}
		if err != nil {
			return err
		}
		drawn = append(drawn, svg)
	}
	if len(drawn) == 0 {
		return nil
	}
	b.Addf("<figure>\n")
	for _, svg := range drawn {
		b.Addf("<div class=\"scroll\">%s</div>\n", svg)
	}
	if s.Caption != "" {
		b.Addf("<figcaption>%s</figcaption>\n", s.Caption)
	}
	b.Addf("</figure>\n")
	return nil
}

func (t *Table) addTo(b *Builder) {
	b.Addf("<div class=\"scroll\">")
	Heads(b, t.Columns)
	for i, cells := range t.Rows {
		style := ""
		if t.Class != nil {
			style = t.Class(i)
		}
		b.Addf("<tr%s>", class(style, style != ""))
		for j, cell := range cells {
			b.Addf("<td%s>%s</td>", class("left", t.Columns[j].Left), cell)
		}
		b.Addf("</tr>\n")
	}
	b.Addf("</tbody>\n</table></div>\n")
	if t.More != "" {
		b.Addf("<p class=\"faint\">%s</p>\n", t.More)
	}
}

// Heads begins a table: its columns, and its body, which the caller ends.
func Heads(b *Builder, columns []TableColumn) {
	b.Addf("<table>\n<thead><tr>")
	for _, c := range columns {
		b.Addf("<th%s>%s</th>", class("left", c.Left), c.Name)
	}
	b.Addf("</tr></thead>\n<tbody>\n")
}

// Style returns the style of all pages, in CSS, for pages that are made elsewhere.
func Style() string { return string(pageStyle) }

// Markup is HTML, or SVG within it.
type Markup string

// Builder makes markup. It stands in for html/template, which calls methods by their names:
// a linker has to keep all methods of all types then, which are 3 MB of the command.
type Builder struct{ text strings.Builder }

// Addf adds markup with arguments in it, as fmt.Printf does. What an argument has of HTML's
// syntax shows as text, so that no name of a file or interface changes a page: only Markup
// is added as it is. An argument may stand between tags, or between double quotes.
func (b *Builder) Addf(format string, args ...any) {
	for i, arg := range args {
		switch arg := arg.(type) {
		case Markup, int, float64:
		case string:
			args[i] = html.EscapeString(arg)
		default:
			args[i] = html.EscapeString(fmt.Sprint(arg))
		}
	}
	fmt.Fprintf(&b.text, format, args...)
}

// Markup returns what was added.
func (b *Builder) Markup() Markup { return Markup(b.text.String()) }
