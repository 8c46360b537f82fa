package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// roff is the source of a man page: requests of man(7) and text.
type roff struct {
	strings.Builder
	headed bool // the last line is a heading
}

// newPage begins a page. Its first line asks for tbl, which formats tables.
func newPage(name, section, summary string) *roff {
	r := &roff{}
	r.line(`'\" t`)
	r.line(`.TH %s %s %s flowdedup flowdedup`, escape(strings.ToUpper(name)), section, made())
	r.line(".nh\n.ad l") // narrow columns of tables have no place for either
	r.line(".SH NAME")
	r.line(`%s \- %s`, escape(name), escape(summary))
	return r
}

// made returns the date of a page: today, or what SOURCE_DATE_EPOCH says, so that a release
// can be made again (reproducible-builds.org).
func made() string {
	at := time.Now()
	if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		at = time.Unix(seconds, 0)
	}
	return at.UTC().Format(time.DateOnly)
}

func (r *roff) line(format string, args ...any) {
	r.headed = strings.HasPrefix(format, ".SH")
	fmt.Fprintf(r, format+"\n", args...)
}

// gap puts a gap before what follows, unless that stands behind a heading.
func (r *roff) gap() {
	if !r.headed {
		r.line(".PP")
	}
}

// text writes a line of text that is no request.
func (r *roff) text(s string) {
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	r.line("%s", s)
}

// paragraph writes text that is filled.
func (r *roff) paragraph(s string) {
	r.gap()
	r.text(s)
}

// verbatim writes lines that stay as they are.
func (r *roff) verbatim(lines []string) {
	r.gap()
	r.line(".RS 4\n.nf")
	for _, l := range lines {
		r.text(escape(l))
	}
	r.line(".fi\n.RE")
}

// escape escapes the characters that roff interprets.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
}

// heading begins a section, or a subsection with .SS.
func (r *roff) heading(request, s string) {
	r.line("%s %s", request, escape(strings.ReplaceAll(s, "`", "")))
	r.headed = true
}

func bold(s string) string   { return `\fB` + escape(s) + `\fR` }
func italic(s string) string { return `\fI` + escape(s) + `\fR` }

// marked matches inline markup of Markdown.
var marked = regexp.MustCompile("`[^`]+`|\\*\\*[^*]+\\*\\*|\\*[^*]+\\*|!?\\[[^]]*\\]\\([^)]*\\)")

// inline renders the inline markup of a paragraph. link returns the text of a link.
func inline(s string, link func(text, target string) string) string {
	var out strings.Builder
	for {
		at := marked.FindStringIndex(s)
		if at == nil {
			return out.String() + escape(s)
		}
		found := s[at[0]:at[1]]
		out.WriteString(escape(s[:at[0]]))
		s = s[at[1]:]
		switch {
		case found[0] == '`':
			out.WriteString(bold(strings.Trim(found, "`")))
		case strings.HasPrefix(found, "**"):
			out.WriteString(`\fB` + inline(strings.Trim(found, "*"), link) + `\fR`)
		case found[0] == '*':
			out.WriteString(italic(strings.Trim(found, "*")))
		case found[0] == '[':
			text, target, _ := strings.Cut(found[1:len(found)-1], "](")
			out.WriteString(link(text, target))
		} // pictures are left out
	}
}
