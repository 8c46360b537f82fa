package plan

import (
	_ "embed" // for the page
	"errors"
	"html/template"
	"io"
	"sync"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

//go:embed page.html
var pageText string

// page is parsed when it is asked for: most runs write none.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
})

// pageRow is a row of the page's table.
type pageRow struct {
	Class string
	Cells []string
}

// HTML writes the result as a page that needs no other file: the table, and charts of
// the rates over memory.
func HTML(w io.Writer, r *Result) error {
	data := struct {
		Style         template.CSS
		Asked, Advice []string
		Columns       []show.Column
		Rows          []pageRow
		Charts        []template.HTML
		Methods       []Candidate
	}{Style: show.ChartStyle(), Asked: r.asked(), Advice: r.advice(), Columns: columns, Methods: r.Candidates}
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
		svg, err := c.HTML()
		if errors.Is(err, show.ErrEmpty) {
			continue
		}
		if err != nil {
			return err
		}
		data.Charts = append(data.Charts, svg)
	}
	return page().Execute(w, data)
}

// charts are the rates of the best candidates over memory.
func (r *Result) charts() []show.Chart {
	memory := show.Axis{Label: "memory", Scale: show.Sizes}
	fpr := show.Chart{Title: "False positive rate", X: memory, Y: show.Axis{Label: "FPR", Scale: show.Log}}
	fnr := show.Chart{Title: "False negative rate", X: memory, Y: show.Axis{Label: "FNR", Scale: show.Log}}
	for i := range r.Candidates[:min(show.MostSeries, len(r.Candidates))] {
		c := &r.Candidates[i]
		var p, n []show.Point
		for _, point := range c.Curve {
			p = append(p, show.Point{X: point.MemoryBytes, Y: point.FPR})
			n = append(n, show.Point{X: point.MemoryBytes, Y: visible(point.FNR)})
		}
		fpr.Series = append(fpr.Series, show.Series{Name: c.Method, Points: p})
		fnr.Series = append(fnr.Series, show.Series{Name: c.Method, Points: n})
	}
	return []show.Chart{fpr, fnr}
}

// visible leaves rates off a chart that would stretch it to where nothing can be read.
func visible(rate float64) float64 {
	if rate < 1e-9 {
		return 0
	}
	return rate
}
