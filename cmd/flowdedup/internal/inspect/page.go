// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// newPage returns the summary as a page.
func newPage(s *Summary, of cli.Origin) *page.Page {
	p := &page.Page{
		Title: "flowdedup inspect", Lead: []string{show.Sentence(s.Verdict)},
		Command: of.Shorten(s.Recommendation.Command), Check: of.Shorten(s.Recommendation.Check), Because: s.Recommendation.Reasons,
		Facts: []page.Fact{
			{Name: "packets", Value: show.Count(s.Packets)},
			{Name: "copies", Value: show.Count(s.Copies)},
			{Name: "share of copies", Value: show.Share(s.Copies, s.Packets)},
			{Name: "equal, but sent again", Value: show.Count(show.Total(s.NotCopies))},
		},
	}
	fact := func(name, value string, there bool) {
		if there {
			p.Facts = append(p.Facts, page.Fact{Name: name, Value: value})
		}
	}
	fact("looked at", "equal innermost packets within "+s.Window, true)
	fact("removed by the command", show.Count(s.Recommendation.Removes), s.Recommendation.Dedup)
	fact("of them no copies", show.Count(s.Recommendation.Wrong), s.Recommendation.Dedup)
	fact("conversations torn apart", fmt.Sprintf("%s of %s sampled", show.Count(s.SplitConversations), show.Count(s.SampledConversations)), s.SampledConversations > 0)
	fact("one-sided conversations", fmt.Sprintf("%s, without copies %s", oneSided(s.Sides.Before), oneSided(s.Sides.After)), s.Sides.Before.Flows > 0)
	fact("noticed", inspectNotes(s), inspectNotes(s) != "")
	fact("not opened", show.NotOpened(s.Unopened, s.Packets), len(s.Unopened) > 0)
	fact("tried", tried(s), tried(s) != "")
	fact("sampled", fmt.Sprintf("1 packet in %.0f at last: counts are estimates", 1/max(s.Sampled, 1e-9)), s.Sampled < 1)
	if s.Copies > 0 {
		p.Sections = append(p.Sections, matrixSection(s), delaySection(s), kindsSection(s))
	}
	if len(s.Paths) > 0 {
		p.Sections = append(p.Sections, pathSection(s))
	}
	if rows := checksumRows(s); len(rows) > 0 {
		p.Sections = append(p.Sections, checksumsSection(rows))
	}
	if len(s.Loops) > 0 {
		p.Sections = append(p.Sections, loopSection(s))
	}
	if len(s.NotCopies) > 0 {
		p.Sections = append(p.Sections, repeatsSection(s))
	}
	return p
}

// matrixSection shows between which points copies lie.
func matrixSection(s *Summary) page.Section {
	heat := page.HeatMap{Title: "Copies by point", Row: "first seen at", Column: "copied at"}
	names := []string{}
	index := func(name string) int {
		i := slices.Index(names, name)
		if i < 0 && len(names) < page.MostHeat {
			i = len(names)
			names = append(names, name)
		}
		return i
	}
	t := page.Table{Columns: matrixColumns, Rows: matrixRows(s)}
	t.Rows = t.Rows[:min(len(t.Rows), page.MostRows)]
	for i := range s.Matrix {
		c := &s.Matrix[i]
		row, column := index(show.Printable(c.First)), index(show.Printable(c.Copy))
		if row >= 0 && column >= 0 {
			heat.Cells = append(heat.Cells, page.HeatCell{Row: row, Column: column, Value: float64(c.Count), Text: show.Short(float64(c.Count)), More: []string{"p50 " + show.Delay(c.Delay.P50)}})
		}
	}
	heat.Rows, heat.Across = names, names
	if more := len(s.Matrix) - len(t.Rows); more > 0 {
		t.More = fmt.Sprintf("%s more pairs are in --json.", show.Count(uint64(more)))
	}
	caption := "Each cell counts the packets that were first seen at the point of its row and again at the point of its column, with the median delay. "
	if len(s.Matrix) > len(heat.Cells) {
		caption += fmt.Sprintf("The %d pairs with the most copies that fit are drawn. ", len(heat.Cells))
	}
	return page.Section{Heading: "Where copies come from", Pictures: []page.Picture{heat}, Caption: caption + matrixAdvice(s), Table: &t}
}

// matrixAdvice interprets the matrix.
func matrixAdvice(s *Summary) string {
	same := uint64(0)
	for i := range s.Matrix {
		if s.Matrix[i].First == s.Matrix[i].Copy {
			same += s.Matrix[i].Count
		}
	}
	switch {
	case same == 0:
		return "All copies were seen at another point: a mirror of both ports, or taps at both ends of a path, cause that."
	case same == s.Copies:
		return "All copies were seen at the same point: look for a mirror session that is configured twice, or that mirrors both directions of both ports."
	}
	return fmt.Sprintf("%s of the copies were seen twice at the same point: two mirror sessions may cover one port.", show.Share(same, s.Copies))
}

// delaySection shows how late copies come.
func delaySection(s *Summary) page.Section {
	return page.Section{
		Heading:  "How late copies come",
		Pictures: []page.Picture{show.DelayChart("Copies by delay", "copies", s.Delays)}, Numbers: show.DelayTable("copies", s.Delays),
		Caption: fmt.Sprintf("Each column counts the copies within a tenth of a decade of delay, off by %s at most. The window of de-duplication must reach beyond the last of them; the recommended one is %s.",
			show.Percent(s.DelayError, 1, 0), s.Recommendation.Window),
	}
}

// kindsSection shows how copies differ.
func kindsSection(s *Summary) page.Section {
	bars := page.Bars{Title: "Copies by what differs"}
	t := page.Table{Columns: kindsColumns, Rows: kindsRows(s)}
	for _, row := range t.Rows[:min(len(t.Rows), show.MaxRows)] {
		bars.List = append(bars.List, page.Bar{Name: row[0], Value: float64(s.Kinds[row[0]]), Text: row[2]})
	}
	section := page.Section{
		Heading: "In what copies differ", Pictures: []page.Picture{bars}, Table: &t,
		Caption: "What differs says what lies between the points: ttl and mac a router, vlan a trunk, tunnel a mirror at both ends of an overlay. An identity that compares it would not find the copy.",
	}
	if len(s.Hops) > 0 {
		section.Text = []string{"Time to live of the copy: " + ttlSteps(s) + "."}
	}
	return section
}

// pathSection shows the losses of each path of a redundant network.
func pathSection(s *Summary) page.Section {
	bars := page.Bars{Title: "Frames that came only on the other path"}
	for _, p := range s.Paths {
		bars.List = append(bars.List, page.Bar{Name: p.Path, Value: float64(p.Missed), Text: show.Count(p.Missed)})
	}
	return page.Section{
		Heading: "What each path missed", Pictures: []page.Picture{bars}, Table: &page.Table{Columns: pathColumns, Rows: pathRows(s)},
		Caption: "Each frame should come on both LANs of PRP, and each multicast frame in both directions of an HSR ring. " +
			"A frame that came on only one path was lost on the other one, or by its capture.",
	}
}

// repeatsSection shows packets that must not be removed.
func repeatsSection(s *Summary) page.Section {
	bars := page.Bars{Title: "Equal packets that were sent again"}
	t := page.Table{Columns: repeatsColumns, Rows: repeatsRows(s)}
	for _, row := range t.Rows[:min(len(t.Rows), show.MaxRows)] {
		bars.List = append(bars.List, page.Bar{Name: row[0], Value: float64(s.NotCopies[row[0]]), Text: row[1]})
	}
	return page.Section{
		Heading: "Equal, but no copies", Pictures: []page.Picture{bars}, Table: &t,
		Caption: fmt.Sprintf("Their senders repeated these packets. A window longer than the time between two of them removes them, too: the recommended command removes %s of them.", show.Count(s.Recommendation.Wrong)),
		Text:    []string{fmt.Sprintf("Measured in %s, with %s of memory.", s.Took.Round(time.Millisecond), show.Bytes(s.MemoryBytes))},
	}
}
