// SPDX-License-Identifier: Apache-2.0

// Package roff writes man pages: requests of man(7) and text, and the pages of commands.
package roff

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Page is the source of a man page: requests of man(7) and text.
type Page struct {
	strings.Builder
	headed bool // the last line is a heading
}

// New begins a page, such as flowdedup-live of section 1. Its first line asks for tbl, which
// formats tables.
func New(name, section, summary string) *Page {
	r := &Page{}
	r.Line(`'\" t`)
	r.Line(`.TH %s %s %s flowdedup flowdedup`, Escape(strings.ToUpper(name)), section, made())
	r.Line(".nh\n.ad l") // narrow columns of tables have no place for either
	r.Line(".SH NAME")
	r.Line(`%s \- %s`, Escape(name), Escape(summary))
	return r
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

// Line writes a line of a format, as it is.
func (r *Page) Line(format string, args ...any) {
	r.headed = strings.HasPrefix(format, ".SH")
	fmt.Fprintf(r, format+"\n", args...)
}

// Gap puts a gap before the next text, unless it stands behind a heading.
func (r *Page) Gap() {
	if !r.headed {
		r.Line(".PP")
	}
}

// Text writes a line of text that is no request.
func (r *Page) Text(s string) {
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	r.Line("%s", s)
}

// Paragraph writes text that is filled.
func (r *Page) Paragraph(s string) {
	r.Gap()
	r.Text(s)
}

// Verbatim writes lines that stay as they are.
func (r *Page) Verbatim(lines []string) {
	r.Gap()
	r.Line(".RS 4\n.nf")
	for _, l := range lines {
		r.Text(Escape(l))
	}
	r.Line(".fi\n.RE")
}

// Escape escapes the characters that roff interprets.
func Escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
}

// Heading begins a section, or a subsection with .SS.
func (r *Page) Heading(request, s string) {
	r.Line("%s %s", request, Escape(strings.ReplaceAll(s, "`", "")))
	r.headed = true
}

// Bold returns text in bold, escaped.
func Bold(s string) string { return `\fB` + Escape(s) + `\fR` }

// Italic returns slanted text, escaped.
func Italic(s string) string { return `\fI` + Escape(s) + `\fR` }
