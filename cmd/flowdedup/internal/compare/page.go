// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// newPage returns the summary as a page.
func newPage(s *Summary, of cli.Origin) *page.Page {
	p := &page.Page{Title: "flowdedup compare", Lead: []string{show.Sentence(s.Verdict)}}
	fact := func(name, value string) { p.Facts = append(p.Facts, page.Fact{Name: name, Value: value}) }
	fact("in both", show.Count(s.Both))
	fact("only in A", show.Count(s.OnlyA-s.A.Outside))
	fact("only in B", show.Count(s.OnlyB-s.B.Outside))
	fact("reordered", show.Count(s.Reordered))
	fact("offset", offsetText(s))
	fact("drift", driftText(s))
	fact("compared", comparedText(s))
	p.Sections = append(p.Sections, sidesSection(s, of))
	if s.DelayNS != nil {
		p.Sections = append(p.Sections, delaysSection(s))
	}
	p.Sections = append(p.Sections, lossSection(s))
	if len(s.Conversations) > 0 {
		t := page.Table{Columns: conversationColumns, Rows: conversationRows(s)}
		t.Rows = t.Rows[:min(len(t.Rows), page.MostRows)]
		p.Sections = append(p.Sections, page.Section{
			Heading: "Conversations", Table: &t,
			Caption: "Conversations with the most packets in only one capture come first, then the largest. Losses of few conversations point to a path or a rule, losses of all to the tap or the capture.",
		})
	}
	return p
}

// sidesSection shows both captures side by side. What neither has is left out.
func sidesSection(s *Summary, of cli.Origin) page.Section {
	t := &page.Table{Columns: []show.Column{{Name: "", Left: true}, {Name: "A"}, {Name: "B"}}}
	row := func(name string, value func(one *side, only uint64) string) {
		a, b := value(&s.A, s.OnlyA), value(&s.B, s.OnlyB)
		if a != "" || b != "" {
			t.Rows = append(t.Rows, []string{name, a, b})
		}
	}
	row("capture", func(one *side, _ uint64) string { return sideName(one, of.Name(one.Input)) })
	row("packets", func(one *side, _ uint64) string { return show.Count(one.Packets) })
	row("not in the other capture", func(one *side, only uint64) string {
		return show.Count(only-one.Outside) + " (" + show.Percent(float64(only-one.Outside), float64(one.Packets-one.Outside), 3) + ")"
	})
	if s.A.Outside+s.B.Outside > 0 {
		row("from before or after the other", func(one *side, _ uint64) string { return show.Count(one.Outside) })
	}
	row("noticed", func(one *side, _ uint64) string { return sideNotes(one) })
	row("not opened", func(one *side, _ uint64) string { return show.NotOpened(one.Unopened, one.Packets) })
	return page.Section{Heading: "A and B", Table: t}
}

// delaysSection shows how much delays vary.
func delaysSection(s *Summary) page.Section {
	d := s.DelayNS
	return page.Section{
		Heading: "How much delays vary", Pictures: []page.Picture{show.DelayChart("Packets by delay above the fastest", "packets", above(s.Delays))}, Numbers: show.DelayTable("packets", s.Delays),
		Caption: "The columns count the packets in both by how much longer they took than the fastest one, with offset and drift of the clocks removed. One narrow hill is a quiet path; a long tail is queueing; two hills are two paths, or packets in both directions.",
		Table: &page.Table{
			Columns: []show.Column{{Name: "p50"}, {Name: "p90"}, {Name: "p99"}, {Name: "p99.9"}, {Name: "max"}},
			Rows:    [][]string{{show.Delay(d.P50), show.Delay(d.P90), show.Delay(d.P99), show.Delay(d.P999), show.Delay(d.Max)}},
		},
	}
}

// above leaves out the fastest packet, from which an axis of decades would have to begin.
func above(bins []traits.Bin) []traits.Bin {
	if len(bins) > 1 && bins[0].From == 0 {
		return bins[1:]
	}
	return bins
}

// lossSection shows the packets that one side lacks, by protocol.
func lossSection(s *Summary) page.Section {
	bars := page.Bars{Title: "Packets in only one capture", Parts: [2]string{"only in A", "only in B"}}
	for _, name := range protocolsByLoss(s) {
		if c := s.Protocols[name]; c.OnlyA+c.OnlyB > 0 && len(bars.List) < show.MaxRows {
			bars.List = append(bars.List, page.Bar{Name: name, Value: float64(c.OnlyA + c.OnlyB), Part: float64(c.OnlyB), Text: show.Count(c.OnlyA) + " and " + show.Count(c.OnlyB)})
		}
	}
	section := page.Section{
		Heading: "What one side lacks", Table: &page.Table{Columns: protocolColumns, Rows: protocolRows(s)},
		Caption: "Packets in only one capture were lost on the way, dropped by a device between, or lost by the other capture.",
		Text:    []string{fmt.Sprintf("Compared in %s, with %s of memory.", s.Took.Round(time.Millisecond), show.Bytes(s.MemoryBytes))},
	}
	if len(bars.List) > 0 {
		section.Pictures = []page.Picture{bars}
	} else {
		section.Caption = "No packet is in only one capture."
	}
	return section
}
