// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
	"github.com/flowdedup/flowdedup/engine/cluster/counts"
	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

// newPage returns the page of a status.
func newPage(st *hub.Status, past *history) *page.Page {
	p := &page.Page{Title: "flowdedup-hub", Lead: []string{lead(st)}, Facts: facts(st)}
	for _, section := range []page.Section{ratesSection(st, past), sitesSection(st), copiesSection(st), distinctSection(st), slicesSection(st)} {
		if len(section.Pictures) > 0 || section.Table != nil || len(section.Text) > 0 {
			p.Sections = append(p.Sections, section)
		}
	}
	return p
}

// lead summarizes the status in a sentence.
func lead(st *hub.Status) string {
	switch {
	case len(st.Unowned) > 0:
		return fmt.Sprintf("%d of %d slices have no hub: their packets pass unchecked.", len(st.Unowned), st.Slices)
	case st.Tree != nil && st.Tree.Failure != "":
		return fmt.Sprintf("The hub above does not answer (%s): packets that are new here stay unchecked.", st.Tree.Failure)
	case len(st.Sites) == 0:
		return "No site has sent anything yet. The line for one: flowdedup-hub join-token SITE."
	}
	return fmt.Sprintf("%d sites share the filter named %q, with a window of %v.", len(st.Sites), st.Filter, st.Window)
}

func facts(st *hub.Status) []page.Fact {
	digests, copies, memory, unchecked := uint64(0), uint64(0), 0, uint64(0)
	for i := range st.Sites {
		digests, copies, unchecked = digests+st.Sites[i].Digests, copies+st.Sites[i].Copies, unchecked+st.Sites[i].Unchecked
	}
	for i := range st.Hubs {
		memory += st.Hubs[i].MemoryBytes
	}
	all := []page.Fact{
		{Name: "digests", Value: comma(digests)}, {Name: "copies between sites", Value: comma(copies)},
		{Name: "unchecked", Value: comma(unchecked)}, {Name: "slices", Value: strconv.Itoa(st.Slices)},
		{Name: "memory", Value: humanize.IBytes(uint64(memory))},
	}
	if t := st.Tree; t != nil {
		all = append(all, page.Fact{Name: "known here", Value: comma(t.Hits)}, page.Fact{Name: "known above", Value: comma(t.HitsAbove)},
			page.Fact{Name: "unchecked above", Value: comma(t.Unchecked)})
	}
	if n := st.Refused.Sum(); n > 0 {
		all = append(all, page.Fact{Name: "refused requests", Value: comma(n)})
	}
	return all
}

// ratesSection shows the last minutes.
func ratesSection(st *hub.Status, past *history) page.Section {
	var rates, unchecked []page.Series
	for i := range st.Sites[:min(len(st.Sites), page.MostSeries)] {
		name := st.Sites[i].Site
		rate, lost := page.Series{Name: name}, page.Series{Name: name}
		past.each(func(before, now sample) {
			one, ok := now.sites[name]
			at := float64(now.at.UnixNano())
			if !ok {
				return
			}
			rate.Points = append(rate.Points, page.Point{X: at, Y: one.digests})
			if b := before.sites[name]; one.unchecked >= b.unchecked {
				lost.Points = append(lost.Points, page.Point{X: at, Y: float64(one.unchecked-b.unchecked) / now.at.Sub(before.at).Seconds()})
			}
		})
		rates, unchecked = append(rates, rate), append(unchecked, lost)
	}
	axis := page.Axis{Label: "time (UTC)", Scale: page.Times}
	return page.Section{
		Heading: "The last ten minutes",
		Pictures: []page.Picture{
			page.Chart{Title: "Digests from each site", X: axis, Y: page.Axis{Label: "digests a second", Scale: page.Linear}, Series: rates},
			page.Chart{Title: "Packets that passed unchecked", X: axis, Y: page.Axis{Label: "packets a second", Scale: page.Linear}, Series: unchecked},
		},
		Caption: "Digests are packets that a site's own filter has left. A site whose line ends is cut off or stopped. Unchecked packets had no answer in time: copies of other sites may be among them.",
	}
}

// sitesSection shows the state of each site.
func sitesSection(st *hub.Status) page.Section {
	t := page.Table{Columns: []page.TableColumn{
		{Name: "site", Left: true}, {Name: "digests"}, {Name: "per second"}, {Name: "copies"}, {Name: "per second"}, {Name: "unchecked"},
		{Name: "answers p99"}, {Name: "clock ahead"}, {Name: "of", Left: true},
	}}
	delays := page.Bars{Title: "99 % of answers came within"}
	for i := range st.Sites {
		s := &st.Sites[i]
		if s.Reported != nil {
			delays.List = append(delays.List, page.Bar{Name: s.Site, Value: float64(s.AnswerP99) / 1e3, Text: s.AnswerP99.Truncate(time.Microsecond).String()})
		}
		t.Rows = append(t.Rows, siteCells(s))
	}
	return page.Section{
		Heading: "Sites", Text: bans(st.Sites), Table: &t, Pictures: []page.Picture{delays},
		Caption: "Time within which 99 % of answers came, as sites say of the last seconds: the way there and back, the wait for other digests and for the slice. A packet waits at most as long as --verdict-wait.",
	}
}

// copiesSection shows the matrix.
func copiesSection(st *hub.Status) page.Section {
	if len(st.Matrix) == 0 {
		return page.Section{Heading: "Copies", Text: []string{"No packet has come from two sites."}}
	}
	var names []string
	for i := range st.Sites[:min(len(st.Sites), page.MostHeat)] {
		names = append(names, st.Sites[i].Site)
	}
	heat := page.HeatMap{Title: "Copies between sites", Row: "first at", Column: "copy at", Rows: names, Across: names}
	t := page.Table{Columns: []page.TableColumn{
		{Name: "first at", Left: true}, {Name: "copy at", Left: true}, {Name: "copies"}, {Name: "half within"}, {Name: "99 % within"},
	}}
	for _, c := range st.Matrix {
		p50 := c.Delay.P50.String()
		row, column := slices.Index(names, c.First), slices.Index(names, c.Copy)
		if c.Copies > 0 && row >= 0 && column >= 0 {
			heat.Cells = append(heat.Cells, page.HeatCell{
				Row: row, Column: column, Value: float64(c.Copies), Text: humanize.SIWithDigits(float64(c.Copies), 1, ""), More: []string{p50},
			})
		}
		if len(t.Rows) < page.MostRows {
			t.Rows = append(t.Rows, []string{c.First, c.Copy, comma(c.Copies), p50, c.Delay.P99.String()})
		}
	}
	return page.Section{
		Heading: "Copies", Pictures: []page.Picture{heat}, Table: &t,
		Caption: "Packets that one site sent first and another sent too, and the time within which half of the copies came, by corrected clocks. Two sites without copies have no path in common, or their clocks differ by more than 10 seconds.",
	}
}

// distinctSection shows the unions of the distinct counts of all sites.
func distinctSection(st *hub.Status) page.Section {
	if st.Counts == nil || len(st.Counts.Rows) == 0 {
		return page.Section{}
	}
	chart := page.Chart{
		Title: "Distinct keys of all sites", X: page.Axis{Label: "start of the window (UTC)", Scale: page.Times},
		Y: page.Axis{Label: "distinct", Scale: page.Linear},
	}
	t := page.Table{Columns: []page.TableColumn{
		{Name: "window", Left: true}, {Name: "of", Left: true}, {Name: "family", Left: true}, {Name: "distinct"}, {Name: "low"}, {Name: "high"},
		{Name: "packets"}, {Name: "sensors"}, {Name: "missing", Left: true},
	}}
	for i := range st.Counts.Rows {
		r := &st.Counts.Rows[i]
		t.Rows = append(t.Rows, []string{windowInUTC(r), r.Of, r.Family, comma(r.Distinct), comma(r.Low), comma(r.High), comma(r.Packets),
			r.Sensors, dash(missing(r))})
		if r.WindowStart == nil || r.Family != "all" {
			continue
		}
		at := slices.IndexFunc(chart.Series, func(s page.Series) bool { return s.Name == r.Of })
		if at < 0 {
			at = len(chart.Series)
			chart.Series = append(chart.Series, page.Series{Name: r.Of})
		}
		s, x := &chart.Series[at], float64(r.WindowStart.UnixNano())
		s.Points = append(s.Points, page.Point{X: x, Y: float64(r.Distinct)})
		s.Bounds = append(s.Bounds, page.Bound{X: x, Low: float64(r.Low), High: float64(r.High)})
	}
	return page.Section{
		Heading: "Distinct keys", Pictures: []page.Picture{chart}, Table: &t,
		Caption: "Elements that several sites saw count once. A window that lacks sites is a lower bound: their counts may still come.",
	}
}

// windowInUTC is when a window began, with the zone.
func windowInUTC(r *counts.Row) string {
	if r.WindowStart == nil {
		return windowOf(r)
	}
	return r.WindowStart.UTC().Format("2006-01-02 15:04:05 MST")
}

// slicesSection shows the slices.
func slicesSection(st *hub.Status) page.Section {
	t := page.Table{Columns: []page.TableColumn{
		{Name: "slice"}, {Name: "hub", Left: true}, {Name: "digests"}, {Name: "fill"}, {Name: "false copies"}, {Name: "evicted too early"}, {Name: "refused"},
	}}
	for i := range st.PerSlice[:min(len(st.PerSlice), page.MostRows)] {
		s := &st.PerSlice[i]
		t.Rows = append(t.Rows, []string{strconv.Itoa(s.Slice), s.Hub, comma(s.Digests), fmt.Sprintf("%.1f %%", 100*s.Fill),
			fmt.Sprintf("%.2g", s.FPR), comma(s.EvictedLive), comma(s.Refused.Sum())})
	}
	t.Name = "Each slice"
	return page.Section{Heading: "Slices", Numbers: &t, Text: []string{fmt.Sprintf("%d slices, %d of them without a hub.", st.Slices, len(st.Unowned))}}
}
