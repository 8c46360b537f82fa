// SPDX-License-Identifier: Apache-2.0

// Package roff makes man pages of Markdown, and Markdown of the help of commands. It renders by
// go-md2man, but for what go-md2man leaves to the formatter: signs that formatters replace, such
// as the hyphens of flags, tables as wide as a terminal, and links to other pages.
package roff

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/russross/blackfriday/v2"
)

// Page is a man page. Page{Name: "flowdedup-live", Section: 1} is flowdedup-live(1).
type Page struct {
	Name    string
	Section int
	Summary string
	Body    string // Markdown, whose sections begin with ##
	// Link returns the name of the page in section 7 that a link leads to, else "". It is nil if
	// the page has no links.
	Link func(target string) string
}

// Render returns the source of a page for man(7). Its first line asks for tbl(1), which formats
// tables.
func (p *Page) Render() []byte {
	base := md2man.NewRoffRenderer()
	body := picture.ReplaceAllLiteral([]byte(p.Body), nil)
	source := blackfriday.Run(body, blackfriday.WithRenderer(&renderer{base, p}), blackfriday.WithExtensions(base.GetExtensions()))
	return emptyLines.ReplaceAllLiteral(source, []byte("\n"))
}

// picture is a picture in Markdown, which pages lack.
var picture = regexp.MustCompile(`!\[[^]]*\]\([^)]*\)`)

// emptyLines are lines that md2man leaves between requests, for which formatters leave gaps.
var emptyLines = regexp.MustCompile(`\n{2,}`)

// renderer renders the nodes of a page that md2man renders otherwise.
type renderer struct {
	blackfriday.Renderer
	page *Page
}

// RenderHeader writes the first lines of a page. Hyphenated and justified lines do not fit into
// narrow columns of tables.
func (r *renderer) RenderHeader(w io.Writer, _ *blackfriday.Node) {
	name := escape(r.page.Name)
	fmt.Fprintf(w, "'\\\" t\n.TH %s %d %s flowdedup flowdedup\n.nh\n.ad l\n", strings.ToUpper(name), r.page.Section, made())
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", name, escape(r.page.Summary))
}

// made returns the date of a page: today, or the date of SOURCE_DATE_EPOCH, so that a release
// can be made again (reproducible-builds.org).
func made() string {
	at := time.Now()
	if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		at = time.Unix(seconds, 0)
	}
	return at.UTC().Format(time.DateOnly)
}

// special are the characters that formatters interpret, within a line and at its start, or
// replace by typographic characters.
var special = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "\n.", "\n\\&.", "\n'", "\n\\&'")

// escape escapes text that begins a line.
func escape[text string | []byte](s text) string {
	escaped, _ := strings.CutPrefix(special.Replace("\n"+string(s)), "\n")
	return escaped
}

// RenderNode implements blackfriday.Renderer.
func (r *renderer) RenderNode(w io.Writer, n *blackfriday.Node, entering bool) blackfriday.WalkStatus {
	switch n.Type {
	case blackfriday.Text:
		if n.Parent.Type == blackfriday.Heading && n.Parent.Level == 2 {
			n.Literal = bytes.ToUpper(n.Literal)
		}
		io.WriteString(w, escape(n.Literal))
	case blackfriday.Code:
		format := `\fB%s\fR`
		if n.Parent.Type == blackfriday.Heading {
			format = "%s"
		}
		fmt.Fprintf(w, format, escape(n.Literal))
	case blackfriday.CodeBlock:
		fmt.Fprintf(w, "%s.RS 4\n.nf\n%s.fi\n.RE\n", gap(n), strings.ReplaceAll(escape(n.Literal), "\n\n", "\n\\&\n"))
	case blackfriday.Link:
		return r.link(w, n, entering)
	case blackfriday.Table:
		r.table(w, n)
		return blackfriday.SkipChildren
	default:
		return r.Renderer.RenderNode(w, n, entering)
	}
	return blackfriday.GoToNext
}

// gap returns the request for a gap before a node, unless it follows a heading.
func gap(n *blackfriday.Node) string {
	if n.Prev != nil && n.Prev.Type == blackfriday.Heading {
		return "\n"
	}
	return "\n.PP\n"
}

// link writes the man page or the address behind the text of a link, unless the text is the same.
func (r *renderer) link(w io.Writer, n *blackfriday.Node, entering bool) blackfriday.WalkStatus {
	target := string(n.LinkData.Destination)
	reference := ""
	if r.page.Link != nil {
		if page := r.page.Link(target); page != "" {
			reference = `\fB` + escape(page) + `\fR(7)`
		}
	}
	switch {
	case reference != "" && entering && strings.HasPrefix(target+"#", string(n.FirstChild.Literal)+"#"):
		io.WriteString(w, reference)
		return blackfriday.SkipChildren
	case reference != "" && !entering:
		fmt.Fprintf(w, " (%s)", reference)
	case strings.Contains(target, "://") && !entering:
		fmt.Fprintf(w, " <%s>", escape(target))
	}
	return blackfriday.GoToNext
}

// mostColumns is how many columns fit side by side into a terminal of 80.
const mostColumns = 4

// table writes a table, or the rows of a wider table as a list.
func (r *renderer) table(w io.Writer, n *blackfriday.Node) {
	var rows [][]string
	const long = 24
	var wide []bool // by column: a cell is long
	n.Walk(func(n *blackfriday.Node, entering bool) blackfriday.WalkStatus {
		if !entering || n.Type != blackfriday.TableRow {
			return blackfriday.GoToNext
		}
		var row []string
		for cell := n.FirstChild; cell != nil; cell = cell.Next {
			text, size := r.cell(cell)
			if row = append(row, text); len(wide) < len(row) {
				wide = append(wide, false)
			}
			wide[len(row)-1] = wide[len(row)-1] || size > long
		}
		rows = append(rows, row)
		return blackfriday.SkipChildren
	})
	if len(wide) > mostColumns {
		list(w, rows)
	} else {
		io.WriteString(w, gap(n))
		columns(w, rows, wide)
	}
}

// cell returns the text of a cell, and how many bytes of it are letters.
func (r *renderer) cell(cell *blackfriday.Node) (text string, size int) {
	var out strings.Builder
	cell.Walk(func(n *blackfriday.Node, entering bool) blackfriday.WalkStatus {
		if n == cell {
			return blackfriday.GoToNext
		}
		if entering {
			size += len(n.Literal)
		}
		return r.RenderNode(&out, n, entering)
	})
	return out.String(), size
}

// list writes each row of a table as its first cell and, below, the others with their headings.
func list(w io.Writer, rows [][]string) {
	for _, row := range rows[1:] {
		fmt.Fprintf(w, "\n.TP\n%s\n", row[0])
		separator := ""
		for i, cell := range row[1:] {
			fmt.Fprintf(w, "%s\\fI%s:\\fR %s\n", separator, rows[0][i+1], cell)
			separator = ".br\n"
		}
	}
}

// columns writes a table for tbl(1). Wide columns share the rest of the line.
func columns(w io.Writer, rows [][]string, wide []bool) {
	var head, body []string
	for _, x := range wide {
		kind := "l"
		if x {
			kind = "lx"
		}
		head, body = append(head, kind+"b"), append(body, kind)
	}
	fmt.Fprintf(w, ".TS\n%s\n%s.\n", strings.Join(head, " "), strings.Join(body, " "))
	for _, row := range rows {
		for i := range row {
			if wide[i] {
				row[i] = "T{\n" + row[i] + "\nT}"
			}
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	fmt.Fprintln(w, ".TE")
}
