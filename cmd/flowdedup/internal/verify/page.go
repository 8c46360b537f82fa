// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// newPage returns the summary as a page.
func newPage(s *summary, of cli.Origin) *page.Page {
	file := ""
	if s.First != nil {
		file = of.Name(s.First.File)
	}
	result := "right"
	if !s.Same {
		result = "not right, or not known to be"
	}
	p := &page.Page{
		Title: "flowdedup verify", Lead: []string{"The output is " + result + ".", show.Sentence(s.verdictOn(file))},
		Facts: []page.Fact{
			{Name: "packets", Value: show.Count(s.Packets)}, {Name: "kept", Value: show.Count(s.Kept)}, {Name: "removed", Value: show.Count(s.Removed)},
			{Name: "compared", Value: fmt.Sprintf("identity %s, window %s", s.Identity, s.Window)},
		},
	}
	if s.Damaged {
		p.Alerts = []string{"A capture is damaged: it was checked up to the damage."}
	}
	for _, d := range s.deviations() {
		if d.count > 0 && d.todo != "" {
			p.Alerts = append(p.Alerts, fmt.Sprintf("%s %s%s: %s.", d.name, show.Count(d.count), d.text, d.todo))
		}
	}
	bars := page.Bars{Title: "Packets of the input", Parts: [2]string{"kept", "removed"}, List: []page.Bar{
		{Name: "packets", Value: float64(s.Kept + s.Removed), Part: float64(s.Removed), Text: show.Count(s.Kept) + " and " + show.Count(s.Removed)},
	}}
	t := &page.Table{Columns: []show.Column{{Name: "of the packets", Left: true}, {Name: "count"}, {Name: "which are", Left: true}}}
	for _, d := range s.deviations() {
		t.Rows = append(t.Rows, []string{d.name, show.Count(d.count), strings.TrimLeft(d.text, " ,")})
	}
	t.Look = func(row, _ int) (look page.Look) {
		if d := s.deviations()[row]; d.count > 0 && d.todo != "" {
			look.Class = "bad"
		}
		return look
	}
	p.Sections = []page.Section{{
		Heading: "What was checked", Pictures: []page.Picture{bars}, Table: t,
		Caption: "Each packet of the input must be in the output, or equal one there within the window. All counts below but the first are 0 if that is so.",
		Text:    []string{fmt.Sprintf("Checked in %s.", s.Took.Round(time.Millisecond))},
	}}
	return p
}
