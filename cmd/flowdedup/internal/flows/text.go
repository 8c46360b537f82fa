// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"fmt"
	"io"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// writeText writes the summary as text.
func writeText(w io.Writer, columns int, s *summary) error {
	t := show.NewText(columns)
	if i := s.Inspection; i != nil {
		fmt.Fprintf(t, "%s\n", show.Sentence(i.Verdict))
		for _, reason := range i.Because {
			fmt.Fprintf(t, "  %s\n", reason)
		}
		if i.Command != "" {
			t.WriteByte('\n')
			t.Command("    ", i.Command)
		}
		t.WriteString("\n")
	}
	fmt.Fprintf(t, "%s in, %s (%s), %s left\n",
		show.Some(s.RecordsIn, "record"), show.Some(s.Copies, "copy", "copies"), show.Share(s.Copies, s.RecordsIn), show.Some(s.RecordsOut, "record"))
	fmt.Fprintf(t, "  traffic     %s reported, %s of it more than once (%s)\n", show.Bytes(s.BytesIn), show.Bytes(s.CopiedBytes), show.Share(s.CopiedBytes, s.BytesIn))
	t.Fact("noticed", notesOf(s))
	for _, u := range s.Unread {
		fmt.Fprintf(t, "  unread      %s of %s, such as %q\n", show.Some(u.Values, "value"), u.Field, u.Example)
	}
	fmt.Fprintf(t, "  compared    by %s, policy %s, points by %s, in %s of at most %s\n", s.Key, s.Policy, s.Point, show.Bytes(s.MemoryBytes), show.Bytes(s.MemoryLimit))
	if s.Relayed != nil {
		fmt.Fprintf(t, "  relayed     %s messages to %s%s\n", show.Count(s.Relayed.Messages), s.Relayed.To,
			show.Also(show.Note{Count: s.Relayed.Failed, What: "not taken"}, show.Note{Count: s.Relayed.Own, What: "from our own address"}))
	}
	t.Table(pointColumns, pointRows(s, len(s.Points)))
	if len(s.Points) == 1 && s.Copies == 0 {
		t.WriteString("  One point: exporters are told apart by address and observation domain, so two on one host need domains of their own.\n")
	}
	t.Table(matrixColumns, matrixRows(s, len(s.Matrix)))
	return t.Flush(w)
}

// notesOf describes anomalies of the input.
func notesOf(s *summary) string {
	return show.Notes(
		show.Note{Count: s.Unchecked, What: "unchecked, which stay"},
		show.Note{Count: s.NoRoom, What: "of them for want of memory"},
		show.Note{Count: s.Undecodable, What: "undecodable"},
		show.Note{Count: s.Other, What: "other events skipped"},
		show.Note{Count: s.Untimed, What: "without a time, in no window"},
		show.Note{Count: s.Waiting, What: "messages still waiting for a template"},
		show.Note{Count: s.Archived, What: "of an archive that was sent again"},
		show.Note{Count: s.Late, What: "too late or ahead of time, not counted"},
		show.Note{Count: s.Early, What: "written early for want of memory"},
		show.Note{Count: s.Lost, What: "lost in transit"},
		show.Note{Count: s.Dropped, What: "datagrams dropped"},
		show.Note{Count: s.Replayed, What: "messages that came again"},
		show.Note{Count: s.Restarts, What: "restarts of exporters"},
		show.Note{Count: s.Reassembled, What: "datagrams reassembled from IP fragments"},
		show.Note{Count: s.Fragments, What: "IP fragments of which others are missing"},
		show.Note{Count: s.Sampled, What: "of sampled packets"},
	)
}

var pointColumns = []show.Column{
	{Name: "point", Left: true}, {Name: "records"}, {Name: "copies"}, {Name: "share"}, {Name: "traffic"}, {Name: "clock"}, {Name: "longest"},
}

// pointRows returns the first rows.
func pointRows(s *summary, most int) (rows [][]string) {
	for i := range s.Points[:min(len(s.Points), most)] {
		p := &s.Points[i]
		rows = append(rows, []string{
			show.Printable(p.Name), show.Count(p.Records), show.Count(p.Copies), show.Share(p.Copies, p.Records), show.Bytes(p.Bytes),
			p.Offset.Round(time.Millisecond).String(), p.Longest.Round(time.Second).String(),
		})
	}
	return rows
}

var matrixColumns = []show.Column{{Name: "copies from", Left: true}, {Name: "originals from", Left: true}, {Name: "copies"}}

// matrixRows returns the first rows.
func matrixRows(s *summary, most int) (rows [][]string) {
	for i := range s.Matrix[:min(len(s.Matrix), most)] {
		m := &s.Matrix[i]
		rows = append(rows, []string{show.Printable(m.Copy), show.Printable(m.Original), show.Count(m.Copies)})
	}
	return rows
}

// status is the summary in a line, for the service manager.
func (s *summary) status() string {
	return fmt.Sprintf("%s, %s, %s dropped", show.Some(s.RecordsIn, "record"), show.Some(s.Copies, "copy", "copies"), show.Count(s.Dropped))
}
