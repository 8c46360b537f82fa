// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"fmt"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// newPage returns the summary as a page. written says that the kept packets were written
// somewhere.
func newPage(s *Summary, of cli.Origin, written bool) *page.Page {
	verb := "found"
	switch {
	case s.Marked:
		verb = "marked"
	case written:
		verb = "removed"
	}
	p := &page.Page{
		Title: "flowdedup dedup",
		Lead:  []string{lead(s, verb)},
		Facts: []page.Fact{
			{Name: "packets in", Value: show.Count(s.PacketsIn)},
			{Name: "duplicates", Value: show.Count(s.Duplicates)},
			{Name: "packets out", Value: show.Count(s.PacketsOut)},
			{Name: "share of duplicates", Value: show.Share(s.Duplicates, s.PacketsIn)},
			{Name: "bytes in, out", Value: show.Bytes(s.BytesIn) + ", " + show.Bytes(s.BytesOut)},
			{Name: "compared", Value: fmt.Sprintf("by %s identity %s%s", s.Identity, within(s.Window), groups(s.Within))},
		},
	}
	if s.FirstTimestamp != nil {
		p.Facts = append(p.Facts, page.Fact{Name: "time", Value: show.Stamp(*s.FirstTimestamp) + " to " + show.Stamp(*s.LastTimestamp)})
	}
	if notes := anomalies(s); notes != "" {
		p.Facts = append(p.Facts, page.Fact{Name: "noticed", Value: notes})
	}
	if text := show.NotOpened(s.Unopened, s.PacketsIn); text != "" {
		p.Facts = append(p.Facts, page.Fact{Name: "not opened", Value: text})
	}
	if n := s.Conversations.String(); written && n != "" {
		p.Facts = append(p.Facts, page.Fact{Name: "split conversations", Value: n})
	}
	p.Sections = []page.Section{timeSection(s), protocolSection(s), inputSection(s, of), filterSection(s)}
	return p
}

// lead is a sentence about the duplicates.
func lead(s *Summary, verb string) string {
	switch {
	case s.PacketsIn == 0:
		return "There are no packets."
	case s.PacketsIn == 1:
		return "The only packet is no duplicate."
	case s.Duplicates == 0:
		return fmt.Sprintf("None of %s packets is a duplicate.", show.Count(s.PacketsIn))
	}
	return fmt.Sprintf("%s of %s packets %s.", show.Count(s.Duplicates), show.Count(s.PacketsIn), fmt.Sprintf(show.Word(s.Duplicates, "is a duplicate (%s), which was %s", "are duplicates (%s), which were %s"), show.Share(s.Duplicates, s.PacketsIn), verb))
}

// atMillisecond is a time in a table or a caption.
const atMillisecond = "2006-01-02 15:04:05.000"

// timeSection shows packets and copies over time.
func timeSection(s *Summary) page.Section {
	section := page.Section{Heading: "Over time"}
	if s.Timeline == nil || len(s.Timeline.Bins) == 0 {
		section.Text = []string{"No packet has a time."}
		return section
	}
	line := s.Timeline.drawn()
	per := line.Width.Seconds()
	kept, copies, share := page.Columns{Name: "kept"}, page.Columns{Name: "copies"}, page.Series{Name: "copies"}
	numbers := &page.Table{Name: "Numbers of the chart", Columns: []show.Column{{Name: "from (UTC)", Left: true}, {Name: "packets"}, {Name: "copies"}, {Name: "share"}}}
	most, at := 0.0, int64(0)
	for i, n := range line.Bins {
		from := line.Start + int64(i)*int64(line.Width)
		to := from + int64(line.Width)
		kept.List = append(kept.List, page.Column{From: float64(from), To: float64(to), Y: float64(n.Packets-n.Copies) / per})
		copies.List = append(copies.List, page.Column{From: float64(from), To: float64(to), Y: float64(n.Copies) / per})
		if n.Packets > 0 {
			share.Points = append(share.Points, page.Point{X: float64(from+to) / 2, Y: 100 * float64(n.Copies) / float64(n.Packets)})
			numbers.Rows = append(numbers.Rows, []string{time.Unix(0, from).UTC().Format(atMillisecond), show.Count(n.Packets), show.Count(n.Copies), show.Share(n.Copies, n.Packets)})
		}
		if n.Packets > 0 && float64(n.Copies)/float64(n.Packets) > most {
			most, at = float64(n.Copies)/float64(n.Packets), from
		}
	}
	x := page.Axis{Label: "time (UTC)", Scale: page.Times}
	section.Pictures = []page.Picture{ // the share is the second series, so that it has the color of copies
		page.Chart{Title: "Packets a second", X: x, Y: page.Axis{Label: "packets a second", Scale: page.Linear}, Columns: []page.Columns{kept, copies}},
		page.Chart{Title: "Copies, in % of the packets", X: x, Y: page.Axis{Label: "%", Scale: page.Linear}, Series: []page.Series{{}, share}, Low: true},
	}
	section.Numbers = numbers
	section.Caption = fmt.Sprintf("Each column is %s wide. An even share of copies points to how packets are mirrored, a share that comes and goes to a path that changes, or to a loop. ", show.Duration(line.Width))
	if most > 0 {
		section.Caption += fmt.Sprintf("The largest share is %s, from %s on.", show.Percent(most, 1, 1), time.Unix(0, at).UTC().Format(atMillisecond+" MST"))
	}
	return section
}

// protocolSection shows duplicates by protocol.
func protocolSection(s *Summary) page.Section {
	bars := page.Bars{Title: "Duplicates by protocol"}
	t := page.Table{Columns: []show.Column{{Name: "protocol", Left: true}, {Name: "duplicates"}, {Name: "share"}}}
	for _, name := range show.Largest(s.DuplicatesByProtocol) {
		n := s.DuplicatesByProtocol[name]
		bars.List = append(bars.List, page.Bar{Name: name, Value: float64(n), Text: show.Count(n)})
		t.Rows = append(t.Rows, []string{name, show.Count(n), show.Share(n, s.Duplicates)})
	}
	if len(t.Rows) == 0 {
		return page.Section{Heading: "By protocol", Text: []string{"There are no duplicates."}}
	}
	return page.Section{
		Heading: "By protocol", Pictures: []page.Picture{bars}, Table: &t,
		Caption: "A mirror copies all protocols. If nearly all copies are of one, such as ARP, their senders may have repeated them: run flowdedup inspect to find out.",
	}
}

// inputSection shows the packets of each input.
func inputSection(s *Summary, of cli.Origin) page.Section {
	if len(s.Inputs) == 0 {
		return page.Section{}
	}
	t := page.Table{Columns: []show.Column{{Name: "input", Left: true}, {Name: "packets"}, {Name: "duplicates"}, {Name: "share"}}}
	for i := range s.Inputs[:min(len(s.Inputs), page.MostRows)] {
		n := &s.Inputs[i]
		t.Rows = append(t.Rows, []string{show.Printable(of.Name(n.Input)), show.Count(n.Packets), show.Count(n.Duplicates), show.Share(n.Duplicates, n.Packets)})
	}
	if more := len(s.Inputs) - len(t.Rows); more > 0 {
		t.More = fmt.Sprintf("%s more inputs are in --json.", show.Count(uint64(more)))
	}
	return page.Section{Heading: "By input", Table: &t}
}

// filterSection shows the expected errors of the result.
func filterSection(s *Summary) page.Section {
	t := page.Table{
		Columns: []show.Column{{Name: "filter", Left: true}, {Name: "value"}, {Name: "what it means", Left: true}},
		Rows: [][]string{
			{"method", s.Method, "see flowdedup plan"},
			{"memory", show.Bytes(s.MemoryBytes), ""},
			{"fill", show.Percent(s.Fill, 1, 1), "of the memory held packets of the window at the end"},
			{"FPR", show.Rate(s.PredictedFPR), show.Sentence(risk(s.PredictedFPR))},
			{"expected wrong verdicts", show.Short(s.PredictedFPR * float64(s.PacketsIn)), "at most, over all packets read"},
			{"forgotten too early", show.Count(s.EvictedLive), forgotten(s)},
		},
	}
	if s.Unverified != nil {
		t.Rows = append(t.Rows, []string{"not verified", show.Count(*s.Unverified), "taken for duplicates by the filter, unknown to the table, and kept"})
	}
	return page.Section{Heading: "How far to trust it", Table: &t}
}

// forgotten describes the packets that the filter had no room for.
func forgotten(s *Summary) string {
	if s.EvictedLive == 0 {
		return "every copy within the window was found"
	}
	words := []string{"copies of these packets may remain"}
	if s.SuggestedMemory > 0 {
		words = append(words, "--memory "+show.FlagBytes(s.SuggestedMemory)+" would do")
	}
	return strings.Join(words, "; ")
}
