package plan

import (
	"bytes"
	_ "embed" // for the page
	"errors"
	"html/template"
	"io"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/chart"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// pageRow is a row of the page's table.
type pageRow struct {
	Class string
	Cells []string
}

// HTML writes the result as a page that needs no other file: the table, and charts of
// the rates over memory.
func HTML(w io.Writer, r *Result) error {
	data := struct {
		Asked, Advice, Columns []string
		Rows                   []pageRow
		Charts                 []template.HTML
		Methods                []Candidate
	}{Asked: r.asked(), Advice: r.advice(), Columns: columns, Methods: r.Candidates}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		row := pageRow{Cells: c.cells()}
		switch {
		case !c.Meets:
			row.Class = "fails"
		case i == 0:
			row.Class = "best"
		}
		data.Rows = append(data.Rows, row)
	}
	for _, c := range r.charts() {
		svg, err := inline(c)
		if errors.Is(err, chart.ErrEmpty) {
			continue
		}
		if err != nil {
			return err
		}
		data.Charts = append(data.Charts, svg)
	}
	return page.Execute(w, data)
}

// mostLines is how many methods the charts show: more cannot be told apart.
const mostLines = 8

// charts are the rates of the best candidates over memory.
func (r *Result) charts() []chart.Chart {
	fpr := chart.Chart{Title: "False positive rate", X: "memory (bytes)", Y: "FPR", LogX: true, LogY: true}
	fnr := chart.Chart{Title: "False negative rate", X: "memory (bytes)", Y: "FNR", LogX: true, LogY: true}
	for i := range r.Candidates[:min(mostLines, len(r.Candidates))] {
		c := &r.Candidates[i]
		var x, p, n []float64
		for _, point := range c.Curve {
			x, p, n = append(x, point.MemoryBytes), append(p, point.FPR), append(n, visible(point.FNR))
		}
		fpr.Lines = append(fpr.Lines, chart.Line{Name: c.Method, X: x, Y: p})
		fnr.Lines = append(fnr.Lines, chart.Line{Name: c.Method, X: x, Y: n})
	}
	return []chart.Chart{fpr, fnr}
}

// visible leaves rates off a chart that would stretch it to where nothing can be read.
func visible(rate float64) float64 {
	if rate < 1e-9 {
		return 0
	}
	return rate
}

// inline draws a chart as an element of a page: without what precedes a document.
func inline(c chart.Chart) (template.HTML, error) {
	var buf bytes.Buffer
	if err := c.SVG(&buf); err != nil {
		return "", err
	}
	_, svg, _ := strings.Cut(buf.String(), "<svg")
	return template.HTML("<svg" + svg), nil // our own drawing, of numbers and method names
}
