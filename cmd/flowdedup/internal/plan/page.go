// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// newPage returns the result as a page: the answer, the methods, and charts of the error rates
// over memory.
func newPage(r *result) *page.Page {
	p := &page.Page{Title: "flowdedup plan", Lead: []string{r.lead()}, Because: []string{show.Sentence(r.Reason)}}
	if r.Command != nil {
		p.Command = *r.Command
	}
	if r.Warning != "" {
		p.Because = append(p.Because, show.Sentence(r.Warning))
	}
	for i, line := range r.asked() {
		p.Facts = append(p.Facts, page.Fact{Name: []string{"request", "captures"}[i], Value: line})
	}
	p.Sections = []page.Section{r.methodsSection(), r.commandsSection(), {
		Heading: "What memory buys", Pictures: r.charts(), Numbers: r.curves(),
		Caption: "Rates over memory, for the best methods. Memory is enough where a line is below the rate that you accept. Rates of 0 are not on the charts.",
	}}
	return p
}

// lead says in a sentence which method is best, and what it takes.
func (r *result) lead() string {
	best := &r.Candidates[0]
	if r.Recommended == nil || best.MemoryBytes == nil {
		return "No method meets the request."
	}
	return fmt.Sprintf("The method %s (%s) needs %s, with an FPR of %s and an FNR of %s.", best.Method, best.Title,
		bytesText(best.MemoryBytes), r.units.fprOf(best), r.units.fnr.of(best.FNR))
}

// bytesText writes a size in the unit that suits it.
func bytesText(bytes *float64) string {
	if bytes == nil {
		return "-"
	}
	return show.Bytes(*bytes)
}

// methodsSection compares the methods. Each size has its unit, as no text stands above it.
func (r *result) methodsSection() page.Section {
	table := page.Table{Columns: slices.Clone(columns), Class: r.class}
	table.Columns[len(columns)-1].Name = "request"
	shown := r.shown()
	for i := range shown {
		c := &shown[i]
		row := r.cells(c)
		row[memoryColumn], row[needsColumn] = bytesText(c.MemoryBytes), bytesText(c.NeededBytes)
		table.Rows = append(table.Rows, row)
	}
	section := page.Section{Heading: "Methods that meet the request", Table: &table, Text: []string{columnsMean}}
	if r.all || r.Recommended == nil {
		section.Heading = "Methods that meet the request, and others"
	}
	for _, line := range []string{r.legend(), r.hidden()} {
		if line != "" {
			section.Text = append(section.Text, line+".")
		}
	}
	return section
}

// commandsSection says how each method is run, and where it comes from.
func (r *result) commandsSection() page.Section {
	table := page.Table{Columns: []show.Column{{Name: "method", Left: true}, {Name: "FPR is", Left: true}, {Name: "source", Left: true}, {Name: "command", Left: true}}}
	shown := r.shown()
	for i := range shown {
		c, command := &shown[i], "-"
		if c.Command != nil {
			command = *c.Command
		}
		table.Rows = append(table.Rows, []string{c.Method + ", " + c.Title, c.FPRKind, c.Source, command})
	}
	return page.Section{Heading: "How to run them", Table: &table}
}

const columnsMean = "FPR: probability that a new element is taken for a repeat. FNR: share of the repeats within the window that are taken for new. " +
	"Lines: cache lines that an element touches. Needs: the least memory that keeps both bounds."

// class returns the style of a row of the table.
func (r *result) class(row int) string {
	switch {
	case !r.Candidates[row].Meets:
		return "fails"
	case row == 0:
		return "best"
	}
	return ""
}

// charted returns the candidates on the charts.
func (r *result) charted() []candidate {
	shown := r.shown()
	return shown[:min(page.MostSeries, len(shown))]
}

// curves are the numbers of the charts.
func (r *result) curves() *page.Table {
	table := &page.Table{Name: "Numbers of the charts", Columns: []show.Column{{Name: "method", Left: true}, {Name: "memory"}, {Name: "FPR"}, {Name: "FNR"}}}
	for _, c := range r.charted() {
		for _, point := range c.Curve {
			table.Rows = append(table.Rows, []string{c.Method, show.Bytes(point.MemoryBytes), show.Rate(point.FPR), show.Rate(point.FNR)})
		}
	}
	return table
}

// charts returns charts of the best candidates' error rates over memory.
func (r *result) charts() []page.Picture {
	memory := page.Axis{Label: "memory", Scale: page.Sizes}
	fpr := page.Chart{Title: "False positive rate", X: memory, Y: page.Axis{Label: "FPR", Scale: page.Log}}
	fnr := page.Chart{Title: "False negative rate", X: memory, Y: page.Axis{Label: "FNR", Scale: page.Log}}
	for _, c := range r.charted() {
		var p, n []page.Point
		for _, point := range c.Curve {
			p = append(p, page.Point{X: point.MemoryBytes, Y: point.FPR})
			n = append(n, page.Point{X: point.MemoryBytes, Y: visible(point.FNR)})
		}
		fpr.Series = append(fpr.Series, page.Series{Name: c.Method, Points: p})
		fnr.Series = append(fnr.Series, page.Series{Name: c.Method, Points: n})
	}
	return []page.Picture{fpr, fnr}
}

// visible hides rates so small that they would compress the rest of a chart.
func visible(rate float64) float64 {
	if rate < 1e-9 {
		return 0
	}
	return rate
}
