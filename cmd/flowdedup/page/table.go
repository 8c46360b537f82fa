// SPDX-License-Identifier: Apache-2.0

package page

import "strings"

// TableColumn is a column of a table.
type TableColumn struct {
	Name string
	Left bool // its cells are text, not numbers
}

// Table is a table of texts.
type Table struct {
	Columns []TableColumn
	Rows    [][]string
	// Name is the caption; if it is "", the heading of the section.
	Name string
	// Class returns the style of a row: best, fails or nothing. It may be nil.
	Class func(row int) string
	// Look returns how a cell looks. It may be nil.
	Look func(row, column int) Look
	// More describes the rows that the table leaves out.
	More string
}

// Look is how a cell of a table looks beyond its text.
type Look struct {
	Class string // bad, warn, faint or nothing
	Meter bool   // Share is drawn before the text
	Share float64
}

// MostRows is how many rows of a table keep a page small.
const MostRows = 400

func (t *Table) addTo(b *builder, heading string) {
	name := t.Name
	if name == "" {
		name = heading
	}
	addScroll(b, "Table: "+name, "")
	b.addf("<table>\n")
	if name != "" {
		b.addf("<caption>%s</caption>\n", name)
	}
	t.heads(b)
	for i := range t.Rows {
		t.row(b, i)
	}
	b.addf("</tbody>\n</table></div>\n")
	if t.More != "" {
		b.addf("<p class=\"faint\">%s</p>\n", t.More)
	}
}

// addScroll begins a box that scrolls if its content is wider than the screen. The keyboard reaches
// the box, and screen readers say its name.
func addScroll(b *builder, name string, content markup) {
	b.addf("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">%s", name, content)
}

// heads adds the names of columns, and begins the body. A column without a name has no head.
func (t *Table) heads(b *builder) {
	b.addf("<thead><tr>")
	for _, c := range t.Columns {
		if c.Name == "" {
			b.addf("<td></td>")
			continue
		}
		b.addf("<th scope=\"col\"%s>%s</th>", class("left", c.Left), c.Name)
	}
	b.addf("</tr></thead>\n<tbody>\n")
}

// row adds a row. A first cell of text names it.
func (t *Table) row(b *builder, row int) {
	style := ""
	if t.Class != nil {
		style = t.Class(row)
	}
	b.addf("<tr%s>", class(markup(style), style != ""))
	for j, text := range t.Rows[row] {
		var look Look
		if t.Look != nil {
			look = t.Look(row, j)
		}
		of := look.Class
		if t.Columns[j].Left {
			of = strings.TrimSpace("left " + of)
		}
		element := "td"
		if j == 0 && t.Columns[j].Left && text != "" {
			element = "th scope=\"row\""
		}
		b.addf("<%s%s>", markup(element), class(markup(of), of != ""))
		if look.Meter {
			b.addf(`<meter min="0" max="1" value="%v" aria-label="%s"></meter>`, look.Share, t.Columns[j].Name)
		}
		b.addf("%s</%s>", words(text), markup(element[:2]))
	}
	b.addf("</tr>\n")
}
