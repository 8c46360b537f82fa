// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// countsPage collects counts for a page. It takes constant memory: of many windows it
// remembers the largest of each group of neighbors for the pictures, and the last ones for
// the tables.
type countsPage struct {
	keys    []*keyPage // in the order of the rows
	totals  []count.Row
	untimed []count.Row
	packets uint64 // of all windows
	windows uint64
	// withoutIP counts packets that are in no row of addresses.
	withoutIP uint64
}

// keyPage has the charts and rows of one key.
type keyPage struct {
	of      string
	zone    *time.Location
	group   int           // windows in each element of drawn
	pending int           // windows in the last element
	drawn   []drawnWindow // at most mostDrawn
	recent  [][]count.Row // of the last windows, page.MostRows at least
	windows int
	span    time.Duration // of the first window
	changed bool          // there are changes
	ranked  bool          // there are rankings
	top     []count.Top   // of the last window
	whole   summed        // windows that the run saw whole
	cut     summed        // the others
}

// summed sums up windows.
type summed struct {
	windows int
	sum     float64 // of their counts
	most    uint64  // in the first window that has as many
	mostAt  time.Time
}

// add adds a window.
func (s *summed) add(distinct uint64, from time.Time) {
	s.windows++
	s.sum += float64(distinct)
	if s.windows == 1 || distinct > s.most {
		s.most, s.mostAt = distinct, from
	}
}

// summed returns the whole windows, or the others if there are none.
func (k *keyPage) summed() *summed {
	if k.whole.windows > 0 {
		return &k.whole
	}
	return &k.cut
}

// drawnWindow is a window, or a group of them, with the rows by family.
type drawnWindow struct {
	from, to time.Time
	families map[string]count.Row
}

const (
	mostDrawn = 240
	mostKeys  = 7
)

var families = []string{"all", "ipv4", "ipv6"}

var familyNames = map[string]string{"all": "all", "ipv4": "IPv4", "ipv6": "IPv6"}

// addRows takes the counts of a window that closed.
func (p *countsPage) addRows(rows []count.Row) {
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Of == rows[0].Of && rows[n].Kind == rows[0].Kind {
			n++
		}
		p.key(rows[:n])
		rows = rows[n:]
	}
}

// key takes the rows of one key and window.
func (p *countsPage) key(rows []count.Row) {
	all := rows[len(rows)-1]
	switch {
	case all.Kind == count.KindTotal:
		p.totals = append(p.totals, all)
		return
	case all.WindowStart == nil:
		p.untimed = append(p.untimed, all)
		return
	}
	i := slices.IndexFunc(p.keys, func(k *keyPage) bool { return k.of == all.Of })
	if i < 0 {
		i = len(p.keys)
		p.keys = append(p.keys, &keyPage{of: all.Of, group: 1})
	}
	if i == 0 {
		p.packets += all.Packets
		p.windows++
	}
	p.keys[i].add(rows)
}

func (k *keyPage) add(rows []count.Row) {
	w := drawnWindow{families: map[string]count.Row{}}
	for _, r := range rows {
		w.families[r.Family] = r
	}
	var err, ended error
	w.from, err = time.Parse(time.RFC3339Nano, *rows[0].WindowStart)
	w.to, ended = time.Parse(time.RFC3339Nano, *rows[0].WindowEnd)
	if err != nil || ended != nil {
		return // rows have times of their own making
	}
	if k.windows == 0 {
		k.span = w.to.Sub(w.from)
	}
	k.zone = cmp.Or(rows[0].Zone, time.UTC)
	w.from, w.to = w.from.In(k.zone), w.to.In(k.zone)
	k.draw(w)
	k.windows++
	all := w.families["all"]
	k.changed = k.changed || all.RowChanges != nil
	if all.Cut.Cut == "" {
		k.whole.add(all.Distinct, w.from)
	} else {
		k.cut.add(all.Distinct, w.from)
	}
	k.ranked, k.top = k.ranked || all.Top != nil, all.Top
	rows = slices.Clone(rows)
	rows[len(rows)-1].Top = slices.Clone(all.Top[:min(1, len(all.Top))])
	k.recent = append(k.recent, rows)
	if len(k.recent) >= 2*page.MostRows {
		k.recent = slices.Delete(k.recent, 0, page.MostRows)
	}
}

// draw adds a window to the last group, or begins one. It widens the groups when there are
// too many.
func (k *keyPage) draw(w drawnWindow) {
	if k.pending > 0 && k.pending < k.group {
		k.drawn[len(k.drawn)-1].join(w)
		k.pending++
		return
	}
	if len(k.drawn) == mostDrawn {
		for i := range mostDrawn / 2 {
			k.drawn[i] = k.drawn[2*i]
			k.drawn[i].join(k.drawn[2*i+1])
		}
		k.drawn = k.drawn[:mostDrawn/2]
		k.group *= 2
	}
	k.drawn = append(k.drawn, w)
	k.pending = 1
}

// join keeps the larger counts of two neighbors.
func (w *drawnWindow) join(o drawnWindow) {
	w.to = o.to
	for family, r := range o.families {
		if r.Distinct > w.families[family].Distinct {
			w.families[family] = r
		}
	}
}

// page returns the page.
func (p *countsPage) page() *page.Page {
	out := &page.Page{Title: "flowdedup distinct", Facts: []page.Fact{
		{Name: "windows", Value: show.Count(p.windows)}, {Name: "packets", Value: show.Count(p.packets)},
	}}
	if p.withoutIP > 0 {
		out.Facts = append(out.Facts, page.Fact{Name: "without IP, in no row of addresses", Value: show.Count(p.withoutIP)})
	}
	if len(p.keys) == 0 && len(p.untimed) == 0 {
		out.Lead = append(out.Lead, "No packets.")
	}
	for _, k := range p.keys[:min(len(p.keys), mostKeys)] {
		out.Lead = append(out.Lead, k.lead(p.totals))
	}
	for _, one := range []struct {
		name string
		rows []count.Row
	}{{"in total", p.totals}, {"without a timestamp", p.untimed}} {
		for i := range one.rows {
			out.Facts = append(out.Facts, page.Fact{Name: "distinct " + one.rows[i].Of + " " + one.name, Value: countOf(&one.rows[i])})
		}
	}
	for _, k := range p.keys[:min(len(p.keys), mostKeys)] {
		out.Sections = append(out.Sections, k.section(page.MostRows/len(p.keys)))
		if all := p.top(k); len(all) > 0 {
			columns, rows, note := ranked(all)
			out.Sections = append(out.Sections, page.Section{Heading: "Top " + k.of + " in all", Table: &page.Table{Columns: columns, Rows: rows, More: note}})
		}
	}
	return out
}

// top returns the ranking of a key in the whole input, if there is one.
func (p *countsPage) top(k *keyPage) []count.Top {
	for i := range p.totals {
		if t := &p.totals[i]; t.Of == k.of && t.Top != nil {
			return t.Top
		}
	}
	if k.windows > 1 {
		return nil
	}
	return k.top
}

// countOf formats a count with its bounds.
func countOf(r *count.Row) string {
	if r.Low == r.High {
		return show.Count(r.Distinct)
	}
	return fmt.Sprintf("%s (%s to %s)", show.Count(r.Distinct), show.Count(r.Low), show.Count(r.High))
}

// section shows one key, with the last lines of its table.
func (k *keyPage) section(lines int) page.Section {
	x := page.Axis{Label: "start of the window (" + k.zone.String() + ")", Scale: page.Times, Zone: k.zone}
	s := page.Section{
		Heading:  "Distinct " + k.of,
		Pictures: []page.Picture{k.chart(x)},
		Caption:  k.caption(),
		Table:    &page.Table{Columns: slices.Clone(pageColumns[:k.columns()])},
	}
	if k.ranked {
		s.Table.Columns = append(s.Table.Columns, show.Column{Name: "top", Left: true})
	}
	for _, rows := range k.recent[max(0, len(k.recent)-lines):] {
		cells := lineOfWindow(rows)[:k.columns()]
		if k.ranked {
			top := ""
			if all := rows[len(rows)-1].Top; len(all) > 0 {
				_, first, _ := ranked(all)
				top = first[0][0] + " (" + first[0][2] + " of packets, " + first[0][4] + " of bytes)"
			}
			cells = append(cells, top)
		}
		s.Table.Rows = append(s.Table.Rows, cells)
	}
	if changes, ok := k.changes(x); ok {
		s.Pictures = append(s.Pictures, changes)
	}
	if more := k.windows - len(s.Table.Rows); more > 0 {
		s.Table.More = fmt.Sprintf("%s earlier windows are in --csv and --json.", show.Count(uint64(more)))
	}
	return s
}

// chart draws the counts over time, with their bounds where they are estimates.
func (k *keyPage) chart(x page.Axis) page.Chart {
	c := page.Chart{Title: "Distinct " + k.of + " in each window", X: x, Y: page.Axis{Label: "distinct", Scale: page.Linear}}
	for _, family := range families {
		line := page.Series{Name: familyNames[family], Hollow: map[float64]bool{}}
		estimated, any := false, false
		for _, w := range k.drawn {
			r, ok := w.families[family]
			if !ok {
				continue
			}
			at := float64(w.from.UnixNano())
			line.Points = append(line.Points, page.Point{X: at, Y: float64(r.Distinct)})
			line.Hollow[at] = r.Cut.Cut != ""
			line.Bounds = append(line.Bounds, page.Bound{X: at, Low: float64(r.Low), High: float64(r.High)})
			estimated, any = estimated || r.Low != r.High, any || r.Distinct > 0
		}
		if !estimated {
			line.Bounds = nil
		}
		if any {
			c.Series = append(c.Series, line)
		}
	}
	return c
}

// changes draws the changes between windows, if they were counted.
func (k *keyPage) changes(x page.Axis) (page.Chart, bool) {
	fresh, back, gone := page.Columns{Name: "new"}, page.Columns{Name: "returning"}, page.Columns{Name: "gone"}
	for _, w := range k.drawn {
		r := w.families["all"]
		if r.RowChanges == nil {
			continue
		}
		from, to := float64(w.from.UnixNano()), float64(w.to.UnixNano())
		fresh.List = append(fresh.List, page.Column{From: from, To: to, Y: float64(r.New)})
		back.List = append(back.List, page.Column{From: from, To: to, Y: float64(r.Returning)})
		gone.List = append(gone.List, page.Column{From: from, To: to, Y: -float64(r.Gone)})
	}
	return page.Chart{
		Title: "New, returning and gone in each window", X: x, Y: page.Axis{Label: "distinct", Scale: page.Linear},
		Columns: []page.Columns{back, fresh, gone},
	}, len(fresh.List) > 0
}

// caption explains the pictures.
func (k *keyPage) caption() string {
	s := k.summed()
	text := fmt.Sprintf("The most are %s, in the window from %s. ", show.Count(s.most), s.mostAt.Format(seconds))
	if k.whole.windows > 0 && k.cut.windows > 0 {
		text += "Hollow points are windows that the run saw in part; averages and the most leave them out. "
	}
	if k.group > 1 {
		text += fmt.Sprintf("Each point is the largest of %d windows. ", k.group)
	}
	text += "An area behind a line holds the true number with 95 % confidence; without one counts are exact, or err as their FPR says. "
	return text + "A step up that stays is new hosts or services; a single peak is a scan or an event; --changes shows whether the same ones come back, against the window before."
}

// columns returns how many columns the table has: those of changes are last.
func (k *keyPage) columns() int {
	if k.changed {
		return len(pageColumns)
	}
	return len(pageColumns) - 3
}

var pageColumns = []show.Column{
	{Name: "window", Left: true}, {Name: "all"}, {Name: "IPv4"}, {Name: "IPv6"}, {Name: "packets"}, {Name: "new"}, {Name: "returning"}, {Name: "gone"},
}

// lineOfWindow returns the cells of a window and key.
func lineOfWindow(rows []count.Row) []string {
	cells := make([]string, len(pageColumns))
	cells[0] = window(&rows[0])
	if rows[0].Cut.Cut != "" {
		cells[0] += " (cut)"
	}
	for i := range rows {
		r := &rows[i]
		switch r.Family {
		case "ipv4":
			cells[2] = countOf(r)
		case "ipv6":
			cells[3] = countOf(r)
		default:
			cells[1], cells[4] = countOf(r), show.Count(r.Packets)
			if c := r.RowChanges; c != nil {
				cells[5], cells[6], cells[7] = show.Count(c.New), show.Count(c.Returning), show.Count(c.Gone)
			}
		}
	}
	return cells
}

// elements names what is counted, for the keys that people ask for most.
var elements = map[string]string{"src": "sources", "dst": "destinations", "flow": "flows", "pair": "pairs of addresses", "host": "hosts"}

// periods names windows that have a name.
var periods = map[time.Duration]string{
	time.Second: "a second", time.Minute: "a minute", time.Hour: "an hour", 24 * time.Hour: "a day", 7 * 24 * time.Hour: "a week",
}

// lead says in a sentence how many elements of a key there are: on average, at most, and in all
// if that was counted.
func (k *keyPage) lead(totals []count.Row) string {
	name, ok := elements[k.of]
	if !ok {
		name = "distinct " + k.of
	}
	all := ""
	for i := range totals {
		if t := &totals[i]; t.Of == k.of && t.Family == "all" {
			all = "; " + countOf(t) + " in all"
		}
	}
	first := k.drawn[0]
	if k.windows == 1 {
		r := first.families["all"]
		return fmt.Sprintf("%s %s from %s to %s%s.", countOf(&r), name, moment(first.from), moment(first.to), all)
	}
	s := k.summed()
	return fmt.Sprintf("On average %s %s %s, most (%s) on %s%s.", humanize.Commaf(math.Round(10*s.sum/float64(s.windows))/10), name, k.period(), show.Count(s.most), moment(s.mostAt), all)
}

// period says how long a window is.
func (k *keyPage) period() string {
	if text, ok := periods[k.span]; ok {
		return text
	}
	return "in " + show.Duration(k.span)
}

// moment writes a time with its day of the week and its zone, as exactly as it needs.
func moment(t time.Time) string {
	layout := "Monday 2006-01-02 15:04 MST"
	if t.Second() != 0 || t.Nanosecond() != 0 {
		layout = "Monday 2006-01-02 15:04:05 MST"
	}
	return t.Format(layout)
}
