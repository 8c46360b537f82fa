// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/analysis/verify"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
	"github.com/flowdedup/flowdedup/engine/window"
)

func newSummary(cfg *config, r *verify.Report) summary {
	s := summary{
		Heading: version.HeadingOf("verify"),
		Same:    r.Differences() == 0 && r.Unknown == 0, Report: *r, Identity: cfg.Identity.Kind.String(),
		Window: window.Window{Duration: cfg.Window, Packets: int64(cfg.Packets), None: cfg.Window == 0 && cfg.Packets == 0, Landmark: cfg.Landmark}.String(),
	}
	if d := r.First; d != nil {
		s.First = &first{Kind: d.Kind, File: fileOf(cfg, d), Packet: d.Packet}
		if d.Time != capture.NoTime {
			s.First.Time = show.Timestamp(d.Time, time.UTC)
		}
	}
	return s
}

// fileOf returns the file in which packets of a difference are counted.
func fileOf(cfg *config, d *verify.Difference) string {
	switch {
	case d.Kind == verify.Foreign:
		return cfg.in(cfg.Output)[d.File]
	case d.Kind == verify.Misplaced:
		return cfg.in(cfg.Duplicates)[d.File]
	case len(cfg.Inputs) == 1:
		return cfg.Inputs[0]
	}
	return "the inputs"
}

// what describes each kind of difference.
var what = map[verify.Kind]string{
	verify.Foreign:   "is not in the input, not in this order, or was changed",
	verify.Lost:      "was removed, though no packet that was kept is equal to it within the window",
	verify.Unlisted:  "was removed, and is not among the removed packets",
	verify.Misplaced: "is among the removed packets, and was not removed or is not in the input",
}

// verdict says in a sentence whether the output is right.
func (s *summary) verdict() string {
	if s.First == nil {
		return s.verdictOn("")
	}
	return s.verdictOn(s.First.File)
}

// verdictOn names the file of the first difference as given.
func (s *summary) verdictOn(file string) string {
	switch {
	case s.Fits != nil:
		return fmt.Sprintf("not known: with these flags %s packets are not right, and with %s all are; give verify the flags of the run that made the output", show.Count(s.Unknown), *s.Fits)
	case s.First != nil:
		when := ""
		if s.First.Time != nil {
			when = ", " + *s.First.Time
		}
		return fmt.Sprintf("packet %d of %s%s, %s", s.First.Packet, show.Printable(file), when, what[s.First.Kind])
	case s.Unknown > 0:
		return fmt.Sprintf("%s could not be checked in this memory: use a larger --memory", show.Some(s.Unknown, "removed packet"))
	case s.Packets == 0:
		return "there are no packets"
	}
	if s.Packets == 1 {
		return "the only packet is there"
	}
	return fmt.Sprintf("all %s packets are there: %s in the output, and %s that are copies of these", show.Count(s.Packets), show.Count(s.Kept), show.Count(s.Removed))
}

// writeText writes the summary as text.
func writeText(w io.Writer, columns int, s *summary) error {
	t := show.NewText(columns)
	fmt.Fprintf(t, "%s\n\n", show.Sentence(s.verdict()))
	fmt.Fprintf(t, "  packets     %s\n  kept        %s\n  removed     %s\n", show.Count(s.Packets), show.Count(s.Kept), show.Count(s.Removed))
	for _, d := range s.deviations() {
		if d.count > 0 {
			fmt.Fprintf(t, "  %-11s %s%s\n", d.name, show.Count(d.count), d.text)
		}
	}
	fmt.Fprintf(t, "  compared    identity %s, window %s\n", s.Identity, s.Window)
	return t.Flush(w)
}

// deviation is a count that is 0 where all is well.
type deviation struct {
	name  string
	count uint64
	text  string // that follows the count
	todo  string // what to do, nothing if that is no fault
}

func (s *summary) deviations() []deviation {
	return []deviation{
		{"filtered", s.Filtered, ", counted nowhere else", ""},
		{"lost", s.Lost, " removed, and no copies of kept packets", "keep the input, and look whether another program wrote to the output"},
		{"foreign", s.Foreign, " in the output, from the first that the input does not have there", "compare with the input of that run, in its order"},
		{"unlisted", s.Unlisted, " removed, and not among the removed packets", "give verify the file of --duplicates of that run"},
		{"misplaced", s.Misplaced, " only among the removed packets", "give verify the file of --duplicates of that run"},
		{"unknown", s.Unknown, ", for want of memory, or of the flags of the run", "give verify a larger --memory, and the flags of the run"},
	}
}

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
			p.Alerts = append(p.Alerts, fmt.Sprintf("%s: %s%s; %s.", d.name, show.Count(d.count), d.text, d.todo))
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
