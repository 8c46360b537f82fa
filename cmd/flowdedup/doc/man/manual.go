// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/doc/man/roff"
)

// page is a page of the manual for users.
type page struct {
	name    string // without .md
	summary string
}

func (p *page) man() string { return "flowdedup-" + p.name }

// entry is a page in the table of contents of the manual.
var entry = regexp.MustCompile(`(?s)^- \[([\w-]+)\.md\]\([\w-]+\.md\): (.*?)\.?$`)

// userPages returns the pages in the table of contents, up to those for developers.
func userPages(manual string) ([]page, error) {
	text, err := os.ReadFile(filepath.Join(manual, "README.md"))
	if err != nil {
		return nil, err
	}
	users, _, found := strings.Cut(string(text), "For developers:")
	if !found {
		return nil, fmt.Errorf("%s/README.md has no pages for developers", manual)
	}
	var pages []page
	for _, item := range items(strings.Split(users, "\n")) {
		m := entry.FindStringSubmatch(item)
		if m == nil {
			return nil, fmt.Errorf("%s/README.md: %q names no page", manual, item)
		}
		pages = append(pages, page{m[1], m[2]})
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("%s/README.md lists no pages", manual)
	}
	return pages, nil
}

// manualPages renders the pages of the manual for section 7, by file name.
func manualPages(manual string, pages []page) (map[string]string, error) {
	texts := map[string]string{}
	for _, p := range pages {
		text, err := os.ReadFile(filepath.Join(manual, p.name+".md"))
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(text), "```") {
			return nil, fmt.Errorf("%s.md: indent code instead of fencing it: man pages know no fences", p.name)
		}
		texts[p.man()+".7"] = p.render(string(text), pages)
	}
	return texts, nil
}

// render converts Markdown to a man page. It knows the parts of Markdown that the manual
// uses.
func (p *page) render(text string, pages []page) string {
	r := roff.New(p.man(), "7", p.summary)
	r.Line(".SH DESCRIPTION")
	link := func(text, target string) string { return linkText(text, target, pages) }
	_, body, _ := strings.Cut(text, "\n") // the title is NAME
	for _, b := range blocks(body) {
		b.render(r, link)
	}
	r.Line(".SH SEE ALSO")
	r.Text(seeAlso(pages, p.man()))
	return r.String()
}

// linkText returns the name of the man page that a link leads to, otherwise its target.
// It returns "" if the text of the link says it already.
func linkText(text, target string, pages []page) string {
	file, _, _ := strings.Cut(filepath.Base(target), "#")
	for _, p := range pages {
		if file != p.name+".md" || strings.Contains(target, "/") {
			continue
		}
		if text == file {
			return roff.Bold(p.man()) + "(7)"
		}
		return roff.Escape(text) + " (" + roff.Bold(p.man()) + "(7))"
	}
	if strings.Contains(target, "://") {
		return roff.Escape(text) + " <" + roff.Escape(target) + ">"
	}
	return inline(text, nil)
}

// seeAlso returns all pages except one.
func seeAlso(pages []page, but string) string {
	var names []string
	add := func(name, section string) {
		if name+section != but+"7" {
			names = append(names, roff.Bold(name)+"("+section+")")
		}
	}
	for _, c := range allCommands() {
		add(manName(c), "1")
	}
	for _, p := range pages {
		add(p.man(), "7")
	}
	return strings.Join(names, ", ")
}

// block is a paragraph, a heading, a list, a table or code.
type block []string

// blocks splits Markdown at empty lines, but not within code.
func blocks(text string) []block {
	var all []block
	var now block
	end := func() {
		if len(now) > 0 {
			all, now = append(all, now), nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
			end()
			all = append(all, block{line})
		case line == "":
			end()
		case strings.HasPrefix(line, "    ") && len(now) == 0 && len(all) > 0 && all[len(all)-1].isCode():
			all[len(all)-1] = append(all[len(all)-1], "", line)
			now, all = all[len(all)-1], all[:len(all)-1]
		default:
			now = append(now, line)
		}
	}
	end()
	return all
}

func (b block) isCode() bool { return strings.HasPrefix(b[0], "    ") }

func (b block) render(r *roff.Page, link func(text, target string) string) {
	switch {
	case b.isCode():
		var lines []string
		for _, l := range b {
			lines = append(lines, strings.TrimPrefix(l, "    "))
		}
		r.Verbatim(lines)
	case strings.HasPrefix(b[0], "### "):
		r.Heading(".SS", b[0][4:])
	case strings.HasPrefix(b[0], "#"):
		r.Heading(".SH", strings.ToUpper(strings.TrimLeft(b[0], "# ")))
	case strings.HasPrefix(b[0], "|"):
		b.renderTable(r, link)
	default:
		b.renderText(r, link)
	}
}

// renderText renders a paragraph, and the list that may follow it.
func (b block) renderText(r *roff.Page, link func(text, target string) string) {
	before := b
	for i, l := range b {
		if strings.HasPrefix(l, "- ") {
			before = b[:i]
			break
		}
	}
	if text := inline(strings.Join(before, " "), link); text != "" {
		r.Paragraph(text)
	}
	for _, item := range items(b[len(before):]) {
		r.Line(`.IP \(bu 2`)
		r.Text(inline(item[2:], link))
	}
}

// items joins the lines of each item of a list.
func items(lines []string) []string {
	var all []string
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "- "):
			all = append(all, l)
		case strings.HasPrefix(l, "  ") && len(all) > 0:
			all[len(all)-1] += " " + strings.TrimSpace(l)
		}
	}
	return all
}

// cellBreak matches the border of two cells: a bar that is not escaped.
var cellBreak = regexp.MustCompile(`([^\\])\|`)

// mostColumns is how many columns fit side by side into a terminal of 80.
const mostColumns = 4

func (b block) renderTable(r *roff.Page, link func(text, target string) string) {
	var rows [][]string
	for i, line := range b {
		if i == 1 {
			continue // the rule below the headings
		}
		// The first heading may be empty.
		line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
		line = cellBreak.ReplaceAllString(line, "$1\x00")
		row := strings.Split(strings.ReplaceAll(line, `\|`, "|"), "\x00")
		for j := range row {
			row[j] = strings.TrimSpace(row[j])
		}
		rows = append(rows, row)
	}
	if len(rows[0]) > mostColumns {
		renderRows(r, rows, link)
	} else {
		renderColumns(r, rows, link)
	}
}

// renderRows renders each row as a list of its cells.
func renderRows(r *roff.Page, rows [][]string, link func(text, target string) string) {
	for _, row := range rows[1:] {
		r.Line(".TP")
		r.Text(inline(row[0], link))
		for i, cell := range row[1:] {
			if i > 0 {
				r.Line(".br")
			}
			r.Text(roff.Italic(rows[0][i+1]+":") + " " + inline(cell, link))
		}
	}
}

// renderColumns renders a table with tbl(1). Columns with long cells share the rest of
// the line.
func renderColumns(r *roff.Page, rows [][]string, link func(text, target string) string) {
	const long = 24
	wide := make([]bool, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			wide[i] = wide[i] || len(cell) > long
		}
	}
	var head, body []string
	for _, w := range wide {
		kind := "l"
		if w {
			kind = "lx"
		}
		head, body = append(head, kind+"b"), append(body, kind)
	}
	r.Gap()
	r.Line(".TS\n%s\n%s.", strings.Join(head, " "), strings.Join(body, " "))
	for _, row := range rows {
		for i, cell := range row {
			cell = inline(cell, link)
			if wide[i] {
				cell = "T{\n" + cell + "\nT}"
			}
			row[i] = cell
		}
		r.Line("%s", strings.Join(row, "\t"))
	}
	r.Line(".TE")
}

// marked matches inline markup of Markdown.
var marked = regexp.MustCompile("`[^`]+`|\\*\\*[^*]+\\*\\*|\\*[^*]+\\*|!?\\[[^]]*\\]\\([^)]*\\)")

// inline renders the inline markup of a paragraph. link returns the text of a link.
func inline(s string, link func(text, target string) string) string {
	var out strings.Builder
	for {
		at := marked.FindStringIndex(s)
		if at == nil {
			return out.String() + roff.Escape(s)
		}
		found := s[at[0]:at[1]]
		out.WriteString(roff.Escape(s[:at[0]]))
		s = s[at[1]:]
		switch {
		case found[0] == '`':
			out.WriteString(roff.Bold(strings.Trim(found, "`")))
		case strings.HasPrefix(found, "**"):
			out.WriteString(`\fB` + inline(strings.Trim(found, "*"), link) + `\fR`)
		case found[0] == '*':
			out.WriteString(roff.Italic(strings.Trim(found, "*")))
		case found[0] == '[':
			text, target, _ := strings.Cut(found[1:len(found)-1], "](")
			out.WriteString(link(text, target))
		} // pictures are left out
	}
}
