package plan

import (
	_ "embed" // for the page
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine/sizing"
)

// JSON writes the result as one object on one line.
func JSON(w io.Writer, r *Result) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // reasons may hold an apostrophe or an ampersand
	return enc.Encode(r)
}

// Text writes the result as text: the request, a table, and a recommendation.
func Text(w io.Writer, r *Result) error {
	var out strings.Builder
	for _, line := range r.asked() {
		fmt.Fprintln(&out, line)
	}
	var rows [][]string
	for i := range r.Candidates {
		rows = append(rows, r.Candidates[i].cells())
	}
	for _, line := range show.Table(columns, rows, true) {
		fmt.Fprintln(&out, line)
	}
	for _, line := range r.advice() {
		fmt.Fprintln(&out, line)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// columns are the columns of the table.
var columns = []show.Column{
	{Name: "method", Left: true}, {Name: "parameters", Left: true}, {Name: "memory"}, {Name: "FPR"}, {Name: "FNR"},
	{Name: "bits/element"}, {Name: "lines"}, {Name: "needs"}, {Left: true},
}

// cells returns a candidate's row of the table.
func (c *Candidate) cells() []string {
	verdict := c.Why
	if c.Meets {
		verdict = c.Where
	}
	return []string{
		c.Method, c.parameterText(), size(c.MemoryBytes), rate(c.FPR), rate(c.FNR),
		number(c.BitsPerElement), number(c.CacheLines), size(c.NeededBytes), verdict,
	}
}

func (c *Candidate) parameterText() string {
	var all []string
	for _, p := range c.parameters {
		all = append(all, fmt.Sprintf("%s %d", p.Name, p.Value))
	}
	return strings.Join(all, ", ")
}

// asked returns the lines that state the request.
func (r *Result) asked() []string {
	window := "unbounded stream"
	if r.Kind != sizing.Unbounded.String() {
		length := " of " + r.Window
		if r.Window == "none" {
			length = " over all"
		}
		window = fmt.Sprintf("%s window%s, %s elements, %s of them different", r.Kind, length, show.Short(r.Elements), show.Short(r.WindowDistinct))
	}
	memory := "the least memory"
	if r.MemoryBytes != nil {
		memory = size(r.MemoryBytes)
	}
	lines := []string{fmt.Sprintf("%s: %s; share of new ones %s; %s, FPR up to %s", r.Of, window, rate(&r.DistinctShare), memory, rate(&r.FPR))}
	if r.MemoryBytes == nil {
		lines[0] += ", FNR up to " + rate(&r.FNR)
	}
	if m := r.Measured; m != nil {
		lines = append(lines, m.text())
	}
	return lines
}

// text describes the measurement.
func (m *Measurement) text() string {
	t := fmt.Sprintf("measured: %s packets in %s, %s elements", show.Count(m.Packets),
		time.Duration(m.Seconds*1e9).Round(time.Millisecond), show.Count(m.Elements))
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

// advice returns the lines below the table.
func (r *Result) advice() []string {
	best := &r.Candidates[0]
	lines := []string{"no recommendation: " + r.Reason}
	if r.Recommended != nil {
		lines[0] = fmt.Sprintf("recommended: %s, %s: %s", best.Method, best.Title, r.Reason)
	}
	for i := range r.Candidates {
		if c := &r.Candidates[i]; c.Meets && c.Command != nil {
			lines = append(lines, fmt.Sprintf("runs here:   %s   (%s: FPR %s, FNR %s)", *c.Command, c.Method, rate(c.FPR), rate(c.FNR)))
		}
	}
	return lines
}

func size(b *float64) string {
	switch {
	case b == nil:
		return "-"
	case *b < 1024:
		return fmt.Sprintf("%.4g B", *b)
	}
	return show.Bytes(*b)
}

// rate formats a probability.
func rate(p *float64) string {
	if p == nil {
		return "-"
	}
	return show.Rate(*p)
}

func number(n *float64) string {
	if n == nil {
		return "-"
	}
	return show.Short(*n)
}

//go:embed page.html
var pageText string

// page is parsed on first use, because most runs write none.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
})

// pageRow is a row of the page's table.
type pageRow struct {
	Class string
	Cells []string
}

// HTML writes the result as a self-contained page: the table, and charts of the error
// rates over memory.
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

// charts returns charts of the best candidates' error rates over memory.
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

// visible hides rates so small that they would compress the rest of a chart.
func visible(rate float64) float64 {
	if rate < 1e-9 {
		return 0
	}
	return rate
}
