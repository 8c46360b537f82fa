// SPDX-License-Identifier: Apache-2.0

package page

import (
	_ "embed" // for the style
	"errors"
	"fmt"
	"html"
	"io"
	"strings"
	"time"
)

// Page is the content of a page, from top to bottom.
type Page struct {
	Title string // the command that was run
	Lead  []string
	// Alerts are what fails now.
	Alerts []string
	// Command, if any, is a command to run, with Because its reasons.
	Command  string
	Because  []string
	Facts    []Fact
	Sections []Section
	Origin   Origin
	// Live is nil for a page that does not change.
	Live *Live
}

// Origin says what a page is of. The title has the inputs, and the end of the page the rest.
type Origin struct {
	Command string   // the command line, without the paths of the host
	Inputs  []string // names of files and interfaces
	Version string   // of the program
	Made    time.Time
}

// Live is how a page of a program that runs is loaded again. A person can pause that.
type Live struct {
	Every  time.Duration
	Paused bool
	Paths  []string // of what else the program serves
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
	// Numbers are those of the pictures, folded away, if Table has others.
	Numbers *Table
	Text    []string
}

// Picture is a Chart, Bars or a HeatMap.
type Picture interface{ HTML() (Markup, error) }

// ErrEmpty is returned for a picture without anything to draw.
var ErrEmpty = errors.New("nothing to draw")

//go:embed page.css
var pageStyle Markup

// Write writes the page. Errors come from w.
func (p *Page) Write(w io.Writer) error {
	var b Builder
	title := p.Title
	if inputs := listed(p.Origin.Inputs, mostTitled); inputs != "" {
		title += ": " + inputs
	}
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
<main>
<h1>%[1]s</h1>
`, title, pageStyle)
	p.live(&b)
	for _, line := range p.Lead {
		b.Addf("<p class=\"lead\">%s</p>\n", line)
	}
	p.alerts(&b)
	p.facts(&b)
	p.advice(&b)
	for i := range p.Sections {
		if err := p.Sections[i].addTo(&b); err != nil {
			return err
		}
	}
	b.Addf("</main>\n")
	p.Origin.addTo(&b)
	b.Addf("</body>\n</html>\n")
	_, err := io.WriteString(w, string(b.Markup()))
	return err
}

// live says how the page is loaded again, with the link that stops or resumes it.
func (p *Page) live(b *Builder) {
	if p.Live == nil {
		return
	}
	b.Addf("<nav class=\"faint\" aria-label=\"Updates\">")
	if p.Live.Paused {
		b.Addf("Paused at %s. <a href=\"/?paused\">Load again</a> <a href=\"/\">Resume</a>", p.Origin.Made.Format(clock))
	} else {
		b.Addf("Loaded again every %s. <a href=\"/?paused\">Pause</a>", p.Live.Every)
	}
	for _, path := range p.Live.Paths {
		b.Addf(" <a href=\"%s\">%s</a>", path, strings.TrimPrefix(path, "/"))
	}
	b.Addf("</nav>\n")
}

func (p *Page) alerts(b *Builder) {
	if len(p.Alerts) == 0 {
		return
	}
	b.Addf("<ul class=\"alerts\">\n")
	for _, line := range p.Alerts {
		b.Addf("<li class=\"bad\">%s</li>\n", line)
	}
	b.Addf("</ul>\n")
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
	drawn, err := s.figure(b)
	if err != nil {
		return err
	}
	listed := s.Table != nil && len(s.Table.Rows) > 0
	if listed {
		s.Table.addTo(b, s.Heading)
	}
	if s.Heading != "" && !drawn && !listed && len(s.Text) == 0 {
		b.Addf("<p>Nothing so far.</p>\n")
	}
	if s.Numbers != nil && len(s.Numbers.Rows) > 0 {
		b.Addf("<details><summary>%s</summary>\n", s.Numbers.Name)
		s.Numbers.addTo(b, "")
		b.Addf("</details>\n")
	}
	for _, line := range s.Text {
		b.Addf("<p>%s</p>\n", line)
	}
	b.Addf("</section>\n")
	return nil
}

// figure adds the pictures that have anything to draw, with their caption, and reports whether
// there are any.
func (s *Section) figure(b *Builder) (bool, error) {
	var drawn []Markup
	for _, picture := range s.Pictures {
		svg, err := picture.HTML()
		if errors.Is(err, ErrEmpty) {
			continue
		}
		if err != nil {
			return false, err
		}
		drawn = append(drawn, svg)
	}
	if len(drawn) == 0 {
		return false, nil
	}
	b.Addf("<figure>\n")
	for _, svg := range drawn {
		b.Addf("%s", svg)
	}
	if s.Caption != "" {
		b.Addf("<figcaption>%s</figcaption>\n", s.Caption)
	}
	b.Addf("</figure>\n")
	return true, nil
}

// Markup is HTML, or SVG within it.
type Markup string

// Builder makes markup. It stands in for html/template, which calls methods by their names:
// a linker has to keep all methods of all types then, which are 3 MB of the command.
type Builder struct{ text strings.Builder }

// Addf adds markup with arguments in it, as fmt.Printf does. HTML syntax in an argument shows
// as text, so that no name of a file or interface changes a page: only Markup is added as it
// is. An argument may stand between tags, or between double quotes.
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

// Markup returns the added markup.
func (b *Builder) Markup() Markup { return Markup(b.text.String()) }

// Style returns the style of all pages, in CSS, for pages that are made elsewhere.
func Style() string { return string(pageStyle) }

// mostTitled and mostListed are how many inputs the title, and the end of a page, name.
const mostTitled, mostListed = 3, 20

// clock is a time with its zone, as pages write it.
const clock = "2006-01-02 15:04:05 MST"

// listed names the first of many.
func listed(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most-1], ", "), len(names)-most+1)
}

// addTo adds the end of the page.
func (o *Origin) addTo(b *Builder) {
	if o.Made.IsZero() {
		return
	}
	b.Addf("<footer class=\"faint\">\n")
	if o.Command != "" {
		b.Addf("<p>Command: <code>%s</code></p>\n", o.Command)
	}
	if len(o.Inputs) > 0 {
		b.Addf("<p>Input: %s</p>\n", listed(o.Inputs, mostListed))
	}
	b.Addf("<p>Made %s by flowdedup, version %s</p>\n</footer>\n", o.Made.Format(clock), o.Version)
}
