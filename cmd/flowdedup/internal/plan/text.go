// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine/sizing"
)

// pipeColumns is the most columns that a sentence has where there is no terminal.
const pipeColumns = 100

// writeText writes the result as text: the request, a table, and a recommendation.
func writeText(w io.Writer, terminal int, r *result) error {
	t := show.NewText(terminal)
	add := func(lines []string) {
		for _, line := range lines {
			fmt.Fprintln(t, show.Wrap(line, 2, cmp.Or(terminal, pipeColumns)))
		}
	}
	add(r.asked())
	var narrow []show.Column
	var rows [][]string
	for _, at := range r.narrow() {
		narrow = append(narrow, columns[at])
	}
	shown := r.shown()
	for i := range shown {
		var row []string
		cells := r.cells(&shown[i])
		for _, at := range r.narrow() {
			row = append(row, cells[at])
		}
		rows = append(rows, row)
	}
	for _, line := range show.Table(narrow, rows, terminal) {
		fmt.Fprintln(t, line)
	}
	add(r.sentences())
	for i := range shown {
		if c := &shown[i]; c.Command != nil {
			t.Command(c.Method+": ", *c.Command)
		}
	}
	return t.Flush(w)
}

// The columns that hold sizes.
const memoryColumn, needsColumn = 2, 3

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
	switch {
	case c.Meets && r.MemoryBytes != nil && c.FNR != nil && *c.FNR > r.FNR:
		verdict = "meets the FPR only"
	case c.Meets:
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
	for _, name := range []string{"K", "P", "Max"} {
		if value, found := c.Parameters[name]; found {
			all = append(all, fmt.Sprintf("%s=%d", name, value))
		}
	}
	if cells, bits := c.Parameters["cells"], c.Parameters["cell bits"]; cells > 0 && bits > 0 {
		all = append(all, fmt.Sprintf("%dx%d", cells, bits))
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

// bounded reports whether the FPR is a bound.
func (c *candidate) bounded() bool {
	return c.FPRKind == string(sizing.Bound) && c.FPR != nil && *c.FPR > 0
}

// legend explains the mark of the table.
func (r *result) legend() string {
	if slices.ContainsFunc(r.shown(), func(c candidate) bool { return c.FPRKind == string(sizing.Bound) && c.FPR != nil }) {
		return "≤: bound"
	}
	return ""
}

// fewRows is how many methods text and page show.
const fewRows = 3

// shown returns the candidates of text and page: the best that meet the request or, if none does,
// the nearest.
func (r *result) shown() []candidate {
	if r.all {
		return r.Candidates
	}
	n := 0
	for n < len(r.Candidates) && r.Candidates[n].Meets {
		n++
	}
	if n == 0 {
		n = len(r.Candidates)
	}
	return r.Candidates[:min(n, fewRows)]
}

// hidden names the candidates that are not shown, "" for none.
func (r *result) hidden() string {
	var names []string
	for _, c := range r.Candidates[len(r.shown()):] {
		names = append(names, c.Method)
	}
	if names == nil {
		return ""
	}
	return "--all shows " + strings.Join(names, ", ") + ", too"
}

// sentences say what the marks of the table mean, and what to take.
func (r *result) sentences() []string {
	best := &r.Candidates[0]
	text := "no recommendation: " + r.Reason
	if r.Recommended != nil {
		text = fmt.Sprintf("recommended: %s, %s: %s", best.Method, best.Title, r.Reason)
	}
	var lines []string
	if legend := r.legend(); legend != "" {
		lines = append(lines, legend)
	}
	lines = append(append(lines, text), r.cases()...)
	if r.Warning != "" {
		lines = append(lines, "warning: "+r.Warning)
	}
	if hidden := r.hidden(); hidden != "" {
		lines = append(lines, hidden)
	}
	return lines
}

// mostlyNew is the share of different elements from which on the spans of time in which elements
// repeat do not matter.
const mostlyNew = 0.8

// cases names the methods whose numbers hold only for some streams, and says for which streams.
func (r *result) cases() (lines []string) {
	var crowded []string
	for _, c := range r.shown() {
		switch {
		case c.MemoryBytes == nil:
		case r.anchored && r.Measured == nil && *c.FNR > 0 && r.WindowDistinct < mostlyNew*r.Elements:
			crowded = append(crowded, c.Method)
		case c.Method == "exact" && r.Kind == sizing.Sliding.String() && r.Of == elementKind{Packets: true}.String():
			lines = append(lines, "exact: the least memory; it takes up to an eighth of the machine's before it forgets anything")
		}
	}
	if len(crowded) > 0 {
		lines = append(lines, "FNR of "+strings.Join(crowded, ", ")+": of elements that come all the time, equally often; of others a sixth to four times as many may be missed")
	}
	return lines
}

func number(n *float64) string {
	if n == nil {
		return "-"
	}
	return show.Short(*n)
}
