// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// newPage returns the summary as a page.
func newPage(s *summary, of cli.Origin) *page.Page {
	p := &page.Page{Title: "flowdedup flows", Lead: []string{lead(s)}}
	if i := s.Inspection; i != nil {
		p.Lead = []string{show.Sentence(i.Verdict), p.Lead[0]}
		p.Command, p.Because = of.Shorten(i.Command), i.Because
	}
	fact := func(name, value string) { p.Facts = append(p.Facts, page.Fact{Name: name, Value: value}) }
	fact("records", show.Count(s.RecordsIn))
	fact("copies", show.Count(s.Copies))
	fact("share of copies", show.Share(s.Copies, s.RecordsIn))
	fact("points", show.Count(uint64(len(s.Points))))
	fact("running for", s.Took.Round(time.Second).String())
	fact("compared", fmt.Sprintf("by %s, policy %s, points by %s", s.Key, s.Policy, s.Point))
	if notes := notesOf(s); notes != "" {
		fact("noticed", notes)
	}
	for _, u := range s.Unread {
		fact("unread", fmt.Sprintf("%s of %s, such as %q", show.Some(u.Values, "value"), u.Field, u.Example))
	}
	if s.Relayed != nil {
		fact("relayed", fmt.Sprintf("%s messages to %s", show.Count(s.Relayed.Messages), s.Relayed.To))
	}
	p.Sections = sections(s, of)
	return p
}

// sections are the tables of points and of copies by exporter.
func sections(s *summary, of cli.Origin) (all []page.Section) {
	bars := page.Bars{Title: "Records by point", Parts: [2]string{"first reports", "copies"}}
	for i := range s.Points[:min(len(s.Points), show.MaxRows)] {
		one := &s.Points[i]
		bars.List = append(bars.List, page.Bar{
			Name: show.Printable(of.Name(one.Name)), Value: float64(one.Records), Part: float64(one.Copies),
			Text: show.Count(one.Records-one.Copies) + " and " + show.Count(one.Copies),
		})
	}
	if len(s.Points) > 0 {
		all = append(all, page.Section{
			Heading: "Points", Pictures: []page.Picture{bars}, Table: &page.Table{Columns: pointColumns, Rows: shortened(pointRows(s, page.MostRows), of, 1)},
			Caption: "A point is an exporter with its observation domain. Clock is how far its clock is behind ours, longest its longest record.",
		})
	}
	switch {
	case len(s.Matrix) > 0:
		all = append(all, page.Section{
			Heading: "Copies by exporter", Table: &page.Table{Columns: matrixColumns, Rows: shortened(matrixRows(s, page.MostRows), of, 2)},
		})
	case len(s.Points) > 0:
		all = append(all, page.Section{Heading: "Copies by exporter", Text: []string{"No point reports what another one had reported."}})
	}
	return all
}

// lead is a sentence about the records that points report twice.
func lead(s *summary) string {
	if s.RecordsIn == 0 {
		return "No record has come."
	}
	return fmt.Sprintf("%s of %s %s what another point had reported: %s of %s of traffic.",
		show.Count(s.Copies), show.Some(s.RecordsIn, "record"), show.Word(s.Copies, "reports", "report"), show.Bytes(s.CopiedBytes), show.Bytes(s.BytesIn))
}

// shortened takes the folders of inputs out of the first cells of rows.
func shortened(rows [][]string, of cli.Origin, cells int) [][]string {
	for _, row := range rows {
		for i := range cells {
			row[i] = of.Name(row[i])
		}
	}
	return rows
}
