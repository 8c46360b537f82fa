package monitor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/flowdedup/flowdedup/capture/diffs"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/report"
)

// ratesOf is how much comes, and how much of it is there twice or lost.
func ratesOf(h *history) panel {
	s, r := h.last, h.now()
	received, dropped := atRings(s)
	lost := plain
	switch {
	case r.dropped > 0:
		lost = bad
	case dropped > 0:
		lost = warn
	}
	return panel{
		Columns: []column{{Left: true}, {Name: "now"}, {}, {Name: "since start"}, {}},
		Rows: [][]cell{
			row("packets", words(perSecond(r.packets, "")), words(""), number(s.PacketsIn), words("")),
			row("duplicates", words(perSecond(r.duplicates, "")), words(percent(r.duplicates, r.packets)),
				number(s.Duplicates), words(percent(float64(s.Duplicates), float64(s.PacketsIn)))),
			row("traffic", words(perSecond(r.bits, "bit")), words(""), words(humanize.IBytes(s.BytesIn)), words("")),
			row("dropped", cell{Text: perSecond(r.dropped, ""), Mood: lost}, words(percent(r.dropped, r.received)),
				cell{Text: count(dropped), Mood: lost}, words(percent(float64(dropped), float64(received)))),
		},
		Least: 4,
		Chart: "last minute",
		Series: [][]float64{
			h.series(func(r rate) float64 { return r.packets }),
			h.series(func(r rate) float64 { return r.duplicates }),
		},
	}
}

// filterOf is the filter's state. One that pushes out what it still needs says how
// large it should be.
func filterOf(s *live.Status) panel {
	f := &s.Filter
	if f.Method == "" {
		return panel{}
	}
	evicted := alarm(f.EvictedLive, warn)
	if f.SuggestedMemory > 0 {
		evicted.Text += ", try --memory " + report.Size(f.SuggestedMemory)
	}
	return panel{
		Columns: []column{{Name: "filter", Left: true}, {Name: "memory"}, {Name: "full", Left: true}, {Name: "FPR"}, {Name: "forgotten too early", Left: true}},
		Rows: [][]cell{row(fmt.Sprintf("%s, %s %s", f.Method, f.Identity, within(f.Window)),
			words(humanize.IBytes(uint64(max(0, f.MemoryBytes)))),
			cell{Text: percent(f.Fill, 1), Bar: true, Share: f.Fill},
			words(fmt.Sprintf("%.1e", f.PredictedFPR)), evicted)},
		Least: 1,
	}
}

// within puts a window into words.
func within(window string) string {
	if n, ok := strings.CutPrefix(window, "n:"); ok {
		return "in " + n + " packets"
	}
	if window == "none" || window == "" {
		return "without a window"
	}
	return "in " + window
}

// diffsOf is how the sampled duplicates differ from what they copy, the most
// frequent first.
func diffsOf(s *live.Status) panel {
	n := &s.Diffs
	if n.Sampled == 0 {
		return panel{}
	}
	kinds := diffCounts(n)
	slices.SortStableFunc(kinds, func(a, b diffCount) int { return cmp.Compare(b.count, a.count) })
	p := panel{Columns: []column{{Name: "copies differ in", Left: true}}, Rows: [][]cell{row(count(n.Sampled) + " sampled")}, Least: 1}
	for _, r := range kinds {
		p.Columns = append(p.Columns, column{Name: r.title})
		p.Rows[0] = append(p.Rows[0], words(percent(float64(r.count), float64(n.Sampled))))
	}
	return p
}

// diffCount is how many copies differ in one way.
type diffCount struct {
	name  string // in metrics
	title string
	count uint64
}

func diffCounts(n *diffs.Counts) []diffCount {
	return []diffCount{
		{"vlan", "VLAN", n.VLAN},
		{"ttl", "TTL", n.TTL},
		{"mac", "MAC", n.MAC},
		{"interface", "interface", n.Interface},
		{"other", "other", n.Other},
		{"exact", "nothing", n.Exact},
	}
}
