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
	"unicode/utf8"
)

// Page is the content of a page, from top to bottom.
type Page struct {
	Title string // the command that was run
	Lead  []string
	// Alerts are what fails now.
	Alerts []string
	// Command, if any, is a command to run, with Because its reasons.
	Command  string
	Check    string // checks what Command writes, "" for nothing
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

// mostLarge is how many facts stand in large letters, and largeLetters the most letters of such a
// fact. Other facts are at the end, values of more than narrowBytes on lines of their own.
const mostLarge, largeLetters, narrowBytes = 4, 16, 18

// Section is a picture with its caption and its numbers. Each of them may be absent.
type Section struct {
	Heading string
	// Pictures are left out where there is nothing to draw.
	Pictures []Picture
	Caption  string
	Table    *Table
	// Numbers are the numbers of the pictures, folded away, if Table has other numbers.
	Numbers *Table
	Text    []string
}

// Picture is a Chart, Bars or a HeatMap.
type Picture interface {
	// html returns the picture, with its title if it is not alone below a heading.
	html(titled bool) (markup, error)
}

// errEmpty is returned for a picture without anything to draw.
var errEmpty = errors.New("nothing to draw")

//go:embed page.css
var pageStyle markup

// Write writes the page. Errors come from w.
func (p *Page) Write(w io.Writer) error {
	var b builder
	title := p.Title
	if inputs := listed(p.Origin.Inputs, mostInTitle); inputs != "" {
		title += ": " + inputs
	}
	b.addf(`<!DOCTYPE html>
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
<h1>%s</h1>
`, title, pageStyle, wordsUpTo(mostHeading, title))
	p.live(&b)
	for _, line := range p.Lead {
		b.addf("<p class=\"lead\">%s</p>\n", words(line))
	}
	p.alerts(&b)
	large, rest := p.split()
	addFacts(&b, "large", large)
	p.advice(&b)
	for i := range p.Sections {
		if err := p.Sections[i].addTo(&b); err != nil {
			return err
		}
	}
	if len(rest) > 0 {
		b.addf("<section>\n<h2>Details</h2>\n")
		addFacts(&b, "", rest)
		b.addf("</section>\n")
	}
	b.addf("</main>\n")
	p.Origin.addTo(&b)
	b.addf("</body>\n</html>\n")
	_, err := io.WriteString(w, string(b.markup()))
	return err
}

// live says how the page is loaded again, with the link that stops or resumes it.
func (p *Page) live(b *builder) {
	if p.Live == nil {
		return
	}
	b.addf("<nav class=\"faint\" aria-label=\"Updates\">")
	if p.Live.Paused {
		b.addf("Paused at %s. <a href=\"/?paused\">Load again</a> <a href=\"/\">Resume</a>", p.Origin.Made.Format(clock))
	} else {
		b.addf("Loaded again every %s. <a href=\"/?paused\">Pause</a>", p.Live.Every)
	}
	for _, path := range p.Live.Paths {
		b.addf(" <a href=\"%s\">%s</a>", path, strings.TrimPrefix(path, "/"))
	}
	b.addf("</nav>\n")
}

func (p *Page) alerts(b *builder) {
	if len(p.Alerts) == 0 {
		return
	}
	b.addf("<ul class=\"alerts\">\n")
	for _, line := range p.Alerts {
		b.addf("<li class=\"bad\">%s</li>\n", words(line))
	}
	b.addf("</ul>\n")
}

// split returns the facts for the top and the facts for the end.
func (p *Page) split() (large, rest []Fact) {
	for _, f := range p.Facts {
		if len(large) < mostLarge && utf8.RuneCountInString(f.Value) <= largeLetters {
			large = append(large, f)
		} else {
			rest = append(rest, f)
		}
	}
	return large, rest
}

func addFacts(b *builder, style string, facts []Fact) {
	if len(facts) == 0 {
		return
	}
	b.addf("<dl%s>\n", class(markup(style), style != ""))
	for _, f := range facts {
		b.addf("<div%s><dt>%s</dt><dd>%s</dd></div>\n", class("wide", len(f.Value) > narrowBytes), f.Name, words(f.Value))
	}
	b.addf("</dl>\n")
}

func (p *Page) advice(b *builder) {
	if len(p.Because) == 0 {
		return
	}
	b.addf("<section class=\"advice\">\n")
	if p.Command != "" {
		b.addf("<h2>Run this</h2>\n<pre>%s</pre>\n", words(p.Command))
	}
	if p.Check != "" {
		b.addf("<p>It is right if this says so:</p>\n<pre>%s</pre>\n", words(p.Check))
	}
	b.addf("<ul>\n")
	for _, reason := range p.Because {
		b.addf("<li>%s</li>\n", words(reason))
	}
	b.addf("</ul>\n</section>\n")
}

// class returns the attribute of an element that has, or has not, a style.
func class(name markup, has bool) markup {
	if !has {
		return ""
	}
	return ` class="` + name + `"`
}

func (s *Section) addTo(b *builder) error {
	b.addf("<section>\n")
	if s.Heading != "" {
		b.addf("<h2>%s</h2>\n", s.Heading)
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
		b.addf("<p>Nothing so far.</p>\n")
	}
	if s.Numbers != nil && len(s.Numbers.Rows) > 0 {
		b.addf("<details><summary>%s</summary>\n", s.Numbers.Name)
		s.Numbers.addTo(b, "")
		b.addf("</details>\n")
	}
	for _, line := range s.Text {
		b.addf("<p>%s</p>\n", words(line))
	}
	b.addf("</section>\n")
	return nil
}

// figure adds the pictures that have anything to draw, with their caption, and reports whether
// there are any.
func (s *Section) figure(b *builder) (bool, error) {
	var drawn []markup
	for _, picture := range s.Pictures {
		svg, err := picture.html(s.Heading == "" || len(s.Pictures) > 1)
		if errors.Is(err, errEmpty) {
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
	b.addf("<figure>\n")
	for _, svg := range drawn {
		b.addf("%s", svg)
	}
	if s.Caption != "" {
		b.addf("<figcaption>%s</figcaption>\n", words(s.Caption))
	}
	b.addf("</figure>\n")
	return true, nil
}

// markup is HTML, or SVG within it.
type markup string

// builder makes markup. It stands in for html/template, which calls methods by their names:
// a linker has to keep all methods of all types then, which are 3 MB of the command.
type builder struct{ text strings.Builder }

// addf adds markup with arguments in it, as fmt.Printf does. HTML syntax in an argument shows
// as text, so that no name of a file or interface changes a page: only markup is added as it
// is. An argument may stand between tags, or between double quotes.
func (b *builder) addf(format string, args ...any) {
	for i, arg := range args {
		switch arg := arg.(type) {
		case markup, int, float64:
		case string:
			args[i] = html.EscapeString(arg)
		default:
			args[i] = html.EscapeString(fmt.Sprint(arg))
		}
	}
	fmt.Fprintf(&b.text, format, args...)
}

// words returns text whose flags, times and names with hyphens are not broken at the ends of lines, and
// whose numbers stay with their units.
func words(text string) markup { return wordsUpTo(mostWord, text) }

// wordsUpTo is words for letters of which so many fit into a line.
func wordsUpTo(most int, text string) markup {
	var b builder
	for i, word := range strings.Split(text, " ") {
		switch {
		case i == 0:
		case units[strings.TrimRight(word, ".,;:)")]:
			b.addf("\u00a0")
		default:
			b.addf(" ")
		}
		if strings.Contains(word, "-") && len(word) <= most {
			b.addf(`<span class="word">%s</span>`, word)
		} else {
			b.addf("%s", word)
		}
	}
	return b.markup()
}

// mostWord is the longest word that fits into a line of a narrow screen, mostHeading in a heading.
const mostWord, mostHeading = 34, 25

// units are the words that stay with the number before them.
var units = map[string]bool{"%": true, "B": true, "KiB": true, "MiB": true, "GiB": true, "TiB": true, "s": true, "ppm": true, "UTC": true}

// markup returns the added markup.
func (b *builder) markup() markup { return markup(b.text.String()) }

// Style returns the style of all pages, in CSS, for pages that are made elsewhere.
func Style() string { return string(pageStyle) }

// mostInTitle and mostListed are how many inputs the title, and the end of a page, name.
const mostInTitle, mostListed = 3, 20

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
func (o *Origin) addTo(b *builder) {
	if o.Made.IsZero() {
		return
	}
	b.addf("<footer class=\"faint\">\n")
	if o.Command != "" {
		b.addf("<p>Command: <code>%s</code></p>\n", words(o.Command))
	}
	if len(o.Inputs) > 0 {
		b.addf("<p>Input: %s</p>\n", listed(o.Inputs, mostListed))
	}
	b.addf("<p>Made %s by flowdedup, version %s</p>\n</footer>\n", o.Made.Format(clock), o.Version)
}
