// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// writePage writes the page of the run.
func (s *Server) writePage(w io.Writer, paused bool) error {
	p := page.Page{
		Title: "flowdedup live", Origin: s.origin(), Alerts: s.health().Reasons,
		Live: &page.Live{Every: pageEvery, Paused: paused, Paths: []string{"/metrics", "/healthz"}},
	}
	s.mu.Lock()
	s.history.fill(&p)
	s.mu.Unlock()
	return p.Write(w)
}

// fill adds the run's counts and history to its page.
func (h *history) fill(p *page.Page) {
	d := newDashboard(h)
	p.Lead = []string{h.lead()}
	fact := func(name, value string) {
		if value != "" {
			p.Facts = append(p.Facts, page.Fact{Name: name, Value: value})
		}
	}
	if s := h.last; s != nil {
		_, dropped := atRings(s)
		fact("packets", show.Count(s.PacketsIn))
		fact("duplicates", show.Count(s.Duplicates))
		fact("share of duplicates", show.Share(s.Duplicates, s.PacketsIn))
		fact("dropped", show.Count(dropped))
	}
	fact("running for", strings.TrimPrefix(d.Up, "up "))
	fact("last status", d.Time)
	for i := range d.Tables {
		section := page.Section{Table: d.Tables[i].page()}
		if i == 0 {
			section.Pictures = []page.Picture{h.chart()}
		}
		p.Sections = append(p.Sections, section)
	}
	if s := h.last; s != nil && s.Diffs.Sampled > 0 && s.Diffs.Exact == s.Diffs.Sampled {
		p.Sections = append(p.Sections, page.Section{Text: []string{"All sampled copies are exact: they differ in nothing."}})
	}
}

// lead says in a sentence how it goes.
func (h *history) lead() string {
	s := h.last
	switch {
	case s == nil:
		return "The run has not begun."
	case s.PacketsIn == 0:
		return "No packet has come."
	}
	r := h.now()
	return fmt.Sprintf("%s of %s packets were duplicates (%s); now %s of %s are.",
		show.Count(s.Duplicates), show.Count(s.PacketsIn), show.Share(s.Duplicates, s.PacketsIn), show.PerSecond(r.duplicates, ""), show.PerSecond(r.packets, ""))
}

// chart draws the rates of packets and of duplicates. It has no lines before two statuses.
func (h *history) chart() page.Chart {
	packets, duplicates := page.Series{Name: "packets"}, page.Series{Name: "duplicates"}
	for _, r := range h.rates {
		at := float64(r.at.UnixNano())
		packets.Points = append(packets.Points, page.Point{X: at, Y: r.packets})
		duplicates.Points = append(duplicates.Points, page.Point{X: at, Y: r.duplicates})
	}
	return page.Chart{
		Title: "The last minute", X: page.Axis{Label: "time (UTC)", Scale: page.Times}, Y: page.Axis{Label: "packets a second", Scale: page.Linear},
		Series: []page.Series{packets, duplicates},
	}
}

// page returns the table for the page. It lacks columns that say nothing.
func (t *table) page() *page.Table {
	var kept []int
	out := &page.Table{Name: t.Columns[0].Name}
	if out.Name == "" {
		out.Name = "rates"
	}
	for i, c := range t.Columns {
		if i > 0 && !slices.ContainsFunc(t.Rows, func(row []cell) bool { return row[i].Text != "" }) {
			continue
		}
		kept = append(kept, i)
		out.Columns = append(out.Columns, c)
	}
	for _, cells := range t.Rows {
		var row []string
		for _, i := range kept {
			row = append(row, cells[i].Text)
		}
		out.Rows = append(out.Rows, row)
	}
	out.Look = func(row, column int) page.Look {
		c := &t.Rows[row][kept[column]]
		look := page.Look{Meter: c.Bar, Share: c.Share}
		if c.Severity != plain {
			look.Class = c.Severity.String()
		}
		return look
	}
	return out
}
