// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// newPage returns the summary as a page.
func newPage(s *Summary, of cli.Origin) *page.Page {
	p := &page.Page{Title: "flowdedup compare", Lead: []string{show.Sentence(s.Verdict)}}
	fact := func(name, value string) { p.Facts = append(p.Facts, page.Fact{Name: name, Value: value}) }
	for _, side := range []struct {
		name string
		*side
		only uint64
	}{{"A", &s.A, s.OnlyA - s.A.Outside}, {"B", &s.B, s.OnlyB - s.B.Outside}} {
		fact(side.name, fmt.Sprintf("%s: %s", sideName(side.side, of.Name(side.Input)), show.Some(side.side.Packets, "packet")))
		fact("only in "+side.name, fmt.Sprintf("%s (%s)%s", show.Count(side.only), show.Percent(float64(side.only), float64(side.side.Packets-side.side.Outside), 3),
			show.Also(show.Note{Count: side.side.Outside, What: "more from before or after the other capture"})))
		if notes := sideNotes(side.side); notes != "" {
			fact("noticed in "+side.name, notes)
		}
		if text := show.NotOpened(side.side.Unopened, side.side.Packets); text != "" {
			fact("not opened in "+side.name, text)
		}
	}
	fact("in both", show.Count(s.Both))
	fact("reordered", show.Count(s.Reordered))
	fact("offset", offsetText(s))
	fact("drift", driftText(s))
	fact("compared", comparedText(s))
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

// delaysSection shows how much delays vary.
func delaysSection(s *Summary) page.Section {
	d := s.DelayNS
	return page.Section{
		Heading: "How much delays vary", Pictures: []page.Picture{show.DelayChart("Packets by delay above the fastest", "packets", s.Delays)}, Numbers: show.DelayTable("packets", s.Delays),
		Caption: "The columns count the packets in both by how much longer they took than the fastest one, with offset and drift of the clocks removed. One narrow hill is a quiet path; a long tail is queueing; two hills are two paths, or packets in both directions.",
		Table: &page.Table{
			Columns: []show.Column{{Name: "p50"}, {Name: "p90"}, {Name: "p99"}, {Name: "p99.9"}, {Name: "max"}},
			Rows:    [][]string{{show.Delay(d.P50), show.Delay(d.P90), show.Delay(d.P99), show.Delay(d.P999), show.Delay(d.Max)}},
		},
	}
}

// lossSection shows the packets that one side lacks, by protocol.
func lossSection(s *Summary) page.Section {
	bars := page.Bars{Title: "Packets in only one capture"}
	for _, name := range protocolsByLoss(s) {
		c := s.Protocols[name]
		for _, one := range []struct {
			side string
			n    uint64
		}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
			if one.n > 0 && len(bars.List) < show.MaxRows {
				bars.List = append(bars.List, page.Bar{Name: name + ", only in " + one.side, Value: float64(one.n), Text: show.Count(one.n)})
			}
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
