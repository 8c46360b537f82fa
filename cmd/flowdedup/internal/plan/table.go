package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

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
	fmt.Fprintln(&out, r.table().Render())
	for _, line := range r.advice() {
		fmt.Fprintln(&out, line)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// columns are the heads of the table.
var columns = []string{"method", "parameters", "memory", "FPR", "FNR", "bits/element", "lines", "needs", ""}

func (r *Result) table() table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	head := table.Row{}
	for _, c := range columns {
		head = append(head, c)
	}
	t.AppendHeader(head)
	var configs []table.ColumnConfig
	for n := 3; n <= 8; n++ {
		configs = append(configs, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	for i := range r.Candidates {
		row := table.Row{}
		for _, cell := range r.Candidates[i].cells() {
			row = append(row, cell)
		}
		t.AppendRow(row)
	}
	return t
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
		window = fmt.Sprintf("%s window%s, %s elements, %s of them different", r.Kind, length, short(r.Elements), short(r.WindowDistinct))
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
	t := fmt.Sprintf("measured: %s packets in %s, %s elements", humanize.Comma(int64(m.Packets)),
		time.Duration(m.Seconds*1e9).Round(time.Millisecond), humanize.Comma(int64(m.Elements)))
	if len(m.Gaps) > 0 {
		t += fmt.Sprintf("; half of the repeats within %s elements, 99 %% within %s", short(m.gaps.Quantile(0.5)), short(m.gaps.Quantile(0.99)))
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
	return humanize.IBytes(uint64(*b))
}

// rate writes a probability.
func rate(p *float64) string {
	switch {
	case p == nil:
		return "-"
	case *p == 0:
		return "0"
	case *p < 1e-4:
		return fmt.Sprintf("%.1e", *p)
	}
	return fmt.Sprintf("%.3g %%", *p*100)
}

func number(n *float64) string {
	if n == nil {
		return "-"
	}
	return short(*n)
}

// short writes a number with three digits, by thousands where it is large.
func short(n float64) string {
	if n < 10000 {
		return fmt.Sprintf("%.4g", n)
	}
	value, unit := humanize.ComputeSI(n)
	return fmt.Sprintf("%.3g%s", value, unit)
}
