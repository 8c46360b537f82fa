package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
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

// Text writes the result for people: what was asked, a table, and a recommendation.
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

// columns are those of the table.
var columns = []show.Column{
	{Name: "method", Left: true}, {Name: "parameters", Left: true}, {Name: "memory"}, {Name: "FPR"}, {Name: "FNR"},
	{Name: "bits/element"}, {Name: "lines"}, {Name: "needs"}, {Left: true},
}

// cells are a candidate's row of the table.
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

// asked are the lines that say what was planned for.
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

// text tells what was measured.
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

// advice are the lines below the table.
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

// rate writes a probability.
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
