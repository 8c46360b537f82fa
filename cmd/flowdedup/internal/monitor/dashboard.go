// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// dashboard is the text that the terminal view and the page show of a status.
type dashboard struct {
	Interfaces string
	Time       string
	Up         string
	Tables     []table
}

// table is a table of the dashboard. Its first column names the rows.
type table struct {
	Columns []show.Column
	Rows    [][]cell
	Hidden  int // hidden rows
	Least   int // rows that must stay

	Chart  string      // what Series shows, "" for nothing
	Series [][]float64 // of the first rows, over time
}

// cell is one field of a table.
type cell struct {
	Text     string
	Severity severity
	Bar      bool    // Share is drawn before Text
	Share    float64 // 0 to 1
}

// severity says how much attention a cell needs.
type severity uint8

const (
	plain severity = iota
	faint
	warn
	bad
)

// String returns the name of the severity's style on the page.
func (m severity) String() string { return [...]string{"plain", "faint", "warn", "bad"}[m] }

// textCell returns a cell of text.
func textCell(s string) cell { return cell{Text: s} }

// countCell returns a cell of a count.
func countCell(n uint64) cell { return cell{Text: show.Count(n)} }

// alertCell returns a cell of a count that should be 0; m is its severity otherwise.
func alertCell(n uint64, m severity) cell {
	if n == 0 {
		m = plain
	}
	return cell{Text: show.Count(n), Severity: m}
}

// row returns a row whose first cell is its name.
func row(name string, cells ...cell) []cell {
	return append([]cell{{Text: show.Printable(name)}}, cells...)
}

// newDashboard returns the dashboard of the last status of a history. It is empty before
// the first status.
func newDashboard(h *history) *dashboard {
	s := h.last
	if s == nil {
		return &dashboard{}
	}
	b := &dashboard{Interfaces: interfaceNames(s)}
	if !s.Now.IsZero() {
		b.Time = s.Now.UTC().Format("2006-01-02 15:04:05Z")
	}
	if !s.Started.IsZero() {
		b.Up = "up " + show.Duration(age(s.Started, s.Now))
	}
	b.Tables = append(b.Tables, ratesOf(h))
	for _, of := range []func(*Status) table{filterOf, learnedOf, hubOf, ringsOf, outputsOf, distinctOf, diffsOf, matrixOf, conversationsOf} {
		if p := of(s); len(p.Rows) > 0 {
			b.Tables = append(b.Tables, p)
		}
	}
	return b
}

// interfaceNames names each interface once.
func interfaceNames(s *Status) string {
	var names []string
	for i := range s.Rings {
		if name := show.Printable(s.Rings[i].Interface); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// percent formats part/whole as a percentage, "" if whole is 0.
func percent(part, whole float64) string {
	if whole <= 0 {
		return ""
	}
	return show.Percent(part, whole, 1)
}

// formatClock formats the time of day of t, with the date unless it is today's.
func formatClock(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	layout := "15:04Z"
	if t.Second() != 0 {
		layout = "15:04:05Z"
	}
	if t.YearDay() != now.YearDay() || t.Year() != now.Year() {
		layout = "2006-01-02 " + layout
	}
	return t.Format(layout)
}

// ratesOf returns the table of rates: packets, duplicates, traffic and drops.
func ratesOf(h *history) table {
	s, r := h.last, h.now()
	received, dropped := atRings(s)
	lost := plain
	switch {
	case r.dropped > 0:
		lost = bad
	case dropped > 0:
		lost = warn
	}
	return table{
		Columns: []show.Column{{Left: true}, {Name: "now"}, {}, {Name: "since start"}, {}},
		Rows: [][]cell{
			row("packets", textCell(show.PerSecond(r.packets, "")), textCell(""), countCell(s.PacketsIn), textCell("")),
			row("duplicates", textCell(show.PerSecond(r.duplicates, "")), textCell(percent(r.duplicates, r.packets)),
				countCell(s.Duplicates), textCell(percent(float64(s.Duplicates), float64(s.PacketsIn)))),
			row("traffic", textCell(show.PerSecond(r.bits, "bit")), textCell(""), textCell(show.Bytes(s.BytesIn)), textCell("")),
			row("dropped", cell{Text: show.PerSecond(r.dropped, ""), Severity: lost}, textCell(percent(r.dropped, r.received)),
				cell{Text: show.Count(dropped), Severity: lost}, textCell(percent(float64(dropped), float64(received)))),
		},
		Least: 4,
		Chart: "last minute",
		Series: [][]float64{
			h.series(func(r rate) float64 { return r.packets }),
			h.series(func(r rate) float64 { return r.duplicates }),
		},
	}
}

// filterOf returns the table of the filter. A filter that evicts live packets suggests a
// size.
func filterOf(s *Status) table {
	if s.Method == "" {
		return table{}
	}
	evicted := alertCell(s.EvictedLive, warn)
	if s.SuggestedMemory > 0 {
		evicted.Text += ", try --memory " + show.FlagBytes(s.SuggestedMemory)
	}
	return table{
		Columns: []show.Column{{Name: "filter", Left: true}, {Name: "memory"}, {Name: "full", Left: true}, {Name: "FPR"}, {Name: "forgotten too early", Left: true}},
		Rows: [][]cell{row(fmt.Sprintf("%s, %s %s", s.Method, s.Identity, inWindow(s.Window)),
			textCell(show.Bytes(s.MemoryBytes)),
			cell{Text: percent(s.Fill, 1), Bar: true, Share: s.Fill},
			textCell(fmt.Sprintf("%.1e", s.PredictedFPR)), evicted)},
		Least: 1,
	}
}

// hubOf returns the table of the hub.
func hubOf(s *Status) table {
	if s.HubDelay == nil {
		return table{}
	}
	state := cell{Text: "answers"}
	if s.HubFailing != "" {
		state = cell{Text: s.HubFailing, Severity: bad}
	}
	return table{
		Columns: []show.Column{{Name: "hub", Left: true}, {Name: "duplicates"}, {Name: "unchecked"}, {Name: "half within"}, {Name: "99 % within"}},
		Rows:    [][]cell{{state, countCell(*s.HubCopies), alertCell(*s.Unchecked, warn), textCell(s.HubDelay.P50.String()), textCell(s.HubDelay.P99.String())}},
		Least:   1,
	}
}

// learnedOf returns the result of learning. Until then the row says that packets pass.
func learnedOf(s *Status) table {
	n := s.Learned
	if n == nil {
		return table{}
	}
	verdict, removes := "inspecting", "all packets pass"
	if n.Decisions > 0 {
		verdict = show.Capitalized(n.Verdict)
	}
	if n.Decisions > 0 && n.Dedup {
		removes = "copies are removed"
	}
	return table{
		Columns: []show.Column{{Name: "learned", Left: true}, {Name: "so", Left: true}, {Name: "passed"}},
		Rows:    [][]cell{row(verdict, textCell(removes), countCell(n.Passed))},
		Least:   1,
	}
}

// inWindow describes a window in words.
func inWindow(window string) string {
	if length, ok := strings.CutPrefix(window, "landmark:"); ok {
		return "in landmark windows of " + strings.TrimPrefix(inWindow(length), "in ")
	}
	if n, ok := strings.CutPrefix(window, "n:"); ok {
		return "in " + n + " packets"
	}
	if window == "none" || window == "" {
		return "without a window"
	}
	return "in " + window
}

// diffsOf returns how sampled duplicates differ from their originals, the most frequent
// way first.
func diffsOf(s *Status) table {
	n := &s.Diffs
	if n.Sampled == 0 {
		return table{}
	}
	kinds := diffCounts(n)
	slices.SortStableFunc(kinds, func(a, b diffCount) int { return cmp.Compare(b.count, a.count) })
	p := table{Columns: []show.Column{{Name: "copies differ in", Left: true}}, Rows: [][]cell{row(show.Count(n.Sampled) + " sampled")}, Least: 1}
	for _, r := range kinds {
		p.Columns = append(p.Columns, show.Column{Name: r.title})
		p.Rows[0] = append(p.Rows[0], textCell(percent(float64(r.count), float64(n.Sampled))))
	}
	return p
}

// conversationsOf returns how many conversations are kept in parts, if any are, and advice.
func conversationsOf(s *Status) table {
	n := &s.Conversations
	if n.Split == 0 {
		return table{}
	}
	advice := ""
	if len(n.Advice) > 0 {
		advice = "use " + strings.Join(n.Advice, " or ")
	}
	return table{
		Columns: []show.Column{{Name: "conversations", Left: true}, {Name: "kept in parts"}, {}, {Name: "", Left: true}},
		Rows: [][]cell{row(show.Count(n.Sampled)+" sampled", cell{Text: show.Count(n.Split), Severity: warn},
			textCell(percent(float64(n.Split), float64(n.Sampled))), textCell(advice))},
		Least: 1,
	}
}

// matrixOf returns between which points the sampled duplicates were seen, and how late.
func matrixOf(s *Status) table {
	if len(s.Matrix) == 0 {
		return table{}
	}
	t := table{
		Columns: []show.Column{{Name: "first seen at", Left: true}, {Name: "copied at", Left: true}, {Name: "sampled"}, {Name: "p50"}, {Name: "p99"}, {Name: "max"}},
		Least:   1,
	}
	for i := range s.Matrix {
		c := &s.Matrix[i]
		t.Rows = append(t.Rows, row(c.First, textCell(show.Printable(c.Copy)), countCell(c.Count),
			textCell(show.Delay(c.Delay.P50)), textCell(show.Delay(c.Delay.P99)), textCell(show.Delay(c.Delay.Max))))
	}
	return t
}

// diffCount is how many copies differ in a way.
type diffCount struct {
	name  string // in metrics
	title string
	count uint64
}

func diffCounts(n *traits.Counts) []diffCount {
	return []diffCount{
		{"vlan", "VLAN", n.VLAN},
		{"ttl", "TTL", n.TTL},
		{"mac", "MAC", n.MAC},
		{"interface", "interface", n.Interface},
		{"other", "other", n.Other},
		{"exact", "nothing", n.Exact},
	}
}

// distinctOf returns a row per key, with the families side by side.
func distinctOf(s *Status) table {
	if len(s.Distinct) == 0 {
		return table{}
	}
	title, span, bounds := "distinct", "", ""
	if start := s.Distinct[0].WindowStart; !start.IsZero() {
		title += " since " + formatClock(start, s.Now)
	}
	if d := s.Distinct[0].Span; d > 0 {
		span, bounds = "past "+show.Duration(d), "95 %"
	}
	p := table{Columns: []show.Column{{Name: title, Left: true}, {Name: "IPv4"}, {Name: "IPv6"}, {Name: "all"}, {Name: span}, {Name: bounds, Left: true}}, Least: 1}
	rows := map[string]int{}
	for i := range s.Distinct {
		d := &s.Distinct[i]
		at, ok := rows[d.Of]
		if !ok {
			at = len(p.Rows)
			rows[d.Of] = at
			p.Rows = append(p.Rows, row(d.Of, make([]cell, 5)...))
		}
		setCounts(p.Rows[at], d)
	}
	return p
}

// setCounts fills the cells of one family in the row of a key.
func setCounts(cells []cell, d *Distinct) {
	switch d.Family {
	case "ipv4":
		cells[1] = countCell(d.Window)
	case "ipv6":
		cells[2] = countCell(d.Window)
	default:
		cells[3] = countCell(d.Window)
		if d.Span > 0 {
			cells[4] = countCell(d.Sliding)
			if d.Low != d.High {
				cells[5] = cell{Text: fmt.Sprintf("%s to %s", show.Count(d.Low), show.Count(d.High)), Severity: faint}
			}
		}
	}
}
