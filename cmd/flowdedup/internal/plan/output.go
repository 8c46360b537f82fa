// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
	"github.com/flowdedup/flowdedup/engine/sizing"
)

// writeJSON writes the result as one object on one line.
func writeJSON(w io.Writer, r *result) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // reasons may hold an apostrophe or an ampersand
	return enc.Encode(r)
}

// width is the most columns that a line of text has.
const width = 100

// writeText writes the result as text: the request, a table, and a recommendation.
func writeText(w io.Writer, r *result) error {
	var out strings.Builder
	for _, line := range r.asked() {
		fmt.Fprintln(&out, wrap(line))
	}
	var narrow []show.Column
	var rows [][]string
	for _, at := range r.narrow() {
		narrow = append(narrow, columns[at])
	}
	for i := range r.Candidates {
		var row []string
		cells := r.cells(&r.Candidates[i])
		for _, at := range r.narrow() {
			row = append(row, cells[at])
		}
		rows = append(rows, row)
	}
	for _, line := range show.Table(narrow, rows, false) {
		fmt.Fprintln(&out, line)
	}
	for _, line := range r.advice() {
		fmt.Fprintln(&out, line)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// wrap cuts a text between words into lines of at most width columns, the later ones
// indented.
func wrap(text string) string {
	var out strings.Builder
	column := 0
	for i, word := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			out.WriteString("\n  ")
			column = 2
		default:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += n
	}
	return out.String()
}

// columns are the columns of the table.
var columns = []show.Column{
	{Name: "method", Left: true}, {Name: "parameters", Left: true}, {Name: "memory"}, {Name: "needs"}, {Name: "FPR"}, {Name: "FNR"},
	{Name: "bits/element"}, {Name: "lines"}, {Left: true},
}

// narrow returns the columns of the text. Without a given memory a method takes what it
// needs.
func (r *result) narrow() []int {
	if r.MemoryBytes == nil {
		return []int{0, 1, 2, 4, 5, 7, 8}
	}
	return []int{0, 1, 2, 3, 4, 5, 7, 8}
}

// cells returns a candidate's row of the table.
func (r *result) cells(c *candidate) []string {
	verdict := c.Why
	if c.Meets {
		verdict = "meets it"
	}
	return []string{
		c.Method, c.parameterText(), r.units.memory.of(c.MemoryBytes), r.units.needs.of(c.NeededBytes), r.units.fprOf(c), r.units.fnr.of(c.FNR),
		number(c.BitsPerElement), number(c.CacheLines), verdict,
	}
}

// parameterText lists the parameters that do not follow from the memory.
func (c *candidate) parameterText() string {
	var all []string
	cells := 0
	for _, p := range c.parameters {
		switch p.Name {
		case "K", "P", "Max", "r", "r'":
			all = append(all, fmt.Sprintf("%s=%d", p.Name, p.Value))
		case "cells":
			cells = p.Value
		case "cell bits":
			if cells > 0 && cells < 1000 {
				all = append(all, fmt.Sprintf("%dx%d", cells, p.Value))
			}
		case "counter bits":
			all = append(all, fmt.Sprintf("%d bits", p.Value))
		}
	}
	return strings.Join(all, " ")
}

// asked returns the lines that state the request.
func (r *result) asked() []string {
	load := fmt.Sprintf("unbounded stream: repeats up to %s elements back, %s of the elements new", show.Short(r.Elements), show.Rate(r.DistinctShare))
	switch {
	case r.Kind == sizing.Unbounded.String() && r.Measured != nil:
		load = fmt.Sprintf("stream of %s elements without a window, %s of them new; rates are means over it", show.Short(r.Elements), show.Rate(r.DistinctShare))
	case r.Kind != sizing.Unbounded.String():
		length := " of " + r.Window
		if r.Window == "none" {
			length = " over all"
		}
		load = fmt.Sprintf("%s window%s: %s elements, %s of them different", r.Kind, length, show.Short(r.Elements), show.Short(r.WindowDistinct))
	}
	memory := "the least memory"
	if r.MemoryBytes != nil {
		memory = r.units.memory.of(r.MemoryBytes)
	}
	lines := []string{fmt.Sprintf("%s, %s; %s for FPR up to %s", r.Of, load, memory, r.units.fpr.of(&r.FPR))}
	if r.MemoryBytes == nil {
		lines[0] += ", FNR up to " + r.units.fnr.of(&r.FNR)
	}
	if m := r.Measured; m != nil {
		lines = append(lines, m.text())
	}
	return lines
}

// text describes the measurement.
func (m *measurement) text() string {
	t := fmt.Sprintf("measured: %s packets in %s, %s elements", show.Count(m.Packets),
		m.Duration.Round(time.Millisecond), show.Count(m.Elements))
	if len(m.Gaps) > 0 {
		t += fmt.Sprintf("; half of the repeats within %s elements, 99 %% within %s", show.Short(m.gaps.Quantile(0.5)), show.Short(m.gaps.Quantile(0.99)))
	} else {
		t += "; no repeats within the window"
	}
	if m.Extrapolated {
		t += "; shorter than the window, so extended at the same rate"
	}
	return t
}

// legend explains the marks of the table.
func (r *result) legend() string {
	var all []string
	for _, mark := range []struct {
		certainty sizing.Certainty
		text      string
	}{{sizing.Bound, "≤: bound"}, {sizing.Estimate, "~: estimate"}} {
		if slices.ContainsFunc(r.Candidates, func(c candidate) bool { return c.certainty == mark.certainty && c.FPR != nil }) {
			all = append(all, mark.text)
		}
	}
	return strings.Join(all, "; ")
}

// advice returns the lines below the table.
func (r *result) advice() []string {
	best := &r.Candidates[0]
	text := "no recommendation: " + r.Reason
	if r.Recommended != nil {
		text = fmt.Sprintf("recommended: %s, %s: %s", best.Method, best.Title, r.Reason)
	}
	var lines []string
	if legend := r.legend(); legend != "" {
		lines = append(lines, wrap(legend))
	}
	lines = append(lines, wrap(text))
	if r.Warning != "" {
		lines = append(lines, wrap("warning: "+r.Warning))
	}
	for i := range r.Candidates {
		if c := &r.Candidates[i]; c.Command != nil {
			lines = append(lines, fmt.Sprintf("%s: %s", c.Method, *c.Command))
		}
	}
	return lines
}

func number(n *float64) string {
	if n == nil {
		return "-"
	}
	return show.Short(*n)
}

// writePage writes the result as a page: the table, and charts of the error rates over memory.
func writePage(w io.Writer, r *result) error {
	table := page.Table{Columns: slices.Clone(columns), Class: r.class}
	table.Columns[len(columns)-1].Name = "request"
	for i := range r.Candidates {
		table.Rows = append(table.Rows, r.cells(&r.Candidates[i]))
	}
	p := page.Page{Title: "flowdedup plan", Lead: r.asked(), Because: r.advice()}
	p.Sections = []page.Section{
		{Heading: "Methods that meet the request, and others", Table: &table, Text: []string{columnsMean}},
		{
			Heading: "What memory buys", Pictures: r.charts(),
			Caption: "Rates over memory, for the best methods. Where a line is below what you can bear, that much memory is enough. Rates of 0 are not on the charts.",
		},
	}
	methods := page.Section{Heading: "The methods"}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		methods.Text = append(methods.Text, fmt.Sprintf("%s: %s (%s); the FPR is %s.", c.Method, c.Title, c.Source, c.FPRKind))
	}
	p.Sections = append(p.Sections, methods)
	return p.Write(w)
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

// charts returns charts of the best candidates' error rates over memory.
func (r *result) charts() []page.Picture {
	memory := page.Axis{Label: "memory", Scale: page.Sizes}
	fpr := page.Chart{Title: "False positive rate", X: memory, Y: page.Axis{Label: "FPR", Scale: page.Log}}
	fnr := page.Chart{Title: "False negative rate", X: memory, Y: page.Axis{Label: "FNR", Scale: page.Log}}
	for i := range r.Candidates[:min(page.MostSeries, len(r.Candidates))] {
		c := &r.Candidates[i]
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
