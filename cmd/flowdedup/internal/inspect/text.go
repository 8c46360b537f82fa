// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/analysis/inspect"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// tried says which fields were left out by way of trial, and what that found; "" without IP.
func tried(s *Summary) string {
	var words, none []string
	least := s.Packets // that a trial without result has compared
	for i := range s.Tried {
		n := &s.Tried[i]
		fields := strings.Join(n.Ignore, ",")
		if n.Equal == 0 {
			none, least = append(none, fields), min(least, n.Packets)
			continue
		}
		words = append(words, fmt.Sprintf("%s: %s more equal, %s%s", fields, show.Count(n.Equal), show.Some(n.Copies, "copy", "copies"), ofFirst(n.Packets, s.Packets)))
	}
	if len(none) > 0 {
		words = append(words, strings.Join(none, ", ")+": none"+ofFirst(least, s.Packets))
	}
	if len(words) == 0 {
		return ""
	}
	return "--ignore " + strings.Join(words, "; ")
}

// ofFirst says how many packets were looked at, "" for all.
func ofFirst(n, all uint64) string {
	if n >= all {
		return ""
	}
	return " of the first " + show.Count(n)
}

// writeText writes the summary as text.
func writeText(w io.Writer, columns int, s *Summary) error {
	t := show.NewText(columns)
	fmt.Fprintf(t, "%s\n\n", show.Sentence(s.Verdict))
	fmt.Fprintf(t, "  packets     %s, %s (%s)%s\n", show.Count(s.Packets), show.Some(s.Copies, "copy", "copies"), show.Share(s.Copies, s.Packets),
		show.Also(show.Note{Count: show.Total(s.NotCopies) - min(s.Looped, show.Total(s.NotCopies)), What: "repeated by their senders"}, show.Note{Count: s.Looped, What: "repeated by a loop or a storm"}))
	if s.Filtered > 0 {
		fmt.Fprintf(t, "  filtered    %s, counted nowhere else\n", show.Some(s.Filtered, "packet"))
	}
	t.Fact("noticed", inspectNotes(s))
	t.Fact("not opened", show.NotOpened(s.Unopened, s.Packets))
	t.Fact("tried", tried(s))
	if s.SplitConversations > 0 {
		fmt.Fprintf(t, "  split       %s of %s sampled conversations, if the first of equal packets is kept\n",
			show.Count(s.SplitConversations), show.Count(s.SampledConversations))
	}
	oneSidedTable(t, &s.Sides)
	t.Table(kindsColumns, kindsRows(s))
	if len(s.Hops) > 0 {
		fmt.Fprintf(t, "  ttl of the copy %s\n", ttlSteps(s))
	}
	t.Table(matrixColumns, matrixRows(s))
	t.Table(pathColumns, pathRows(s))
	t.Table(checksumColumns, checksumRows(s))
	t.Table(repeatsColumns, repeatsRows(s))
	t.Table(loopColumns, loopRows(s))
	writeRecommendation(t, s)
	if s.Sampled < 1 {
		fmt.Fprintf(t, "\n  sampled     1 packet in %.0f at last, so counts of copies are estimates", 1/s.Sampled)
	}
	fmt.Fprintf(t, "\n  compared    innermost packets within %s, in %s\n", s.Window, show.Bytes(s.MemoryBytes))
	return t.Flush(w)
}

func oneSided(s inspect.Sides) string { return show.Share(s.OneSided, s.Flows) }

var oneSidedColumns = []show.Column{{Name: "one-sided conversations", Left: true}, {Name: "as captured"}, {Name: "without copies"}}

// oneSidedTable writes the shares of conversations of which an analyzer sees one direction, with
// advice.
func oneSidedTable(t *show.Text, s *inspect.OneSided) {
	if s.Before.Flows == 0 {
		return
	}
	t.Table(oneSidedColumns, [][]string{
		{"flows by addresses and ports", oneSided(s.Before), oneSided(s.After)},
		{"flows by VLAN and tunnel, too", oneSided(s.BeforeByTag), oneSided(s.AfterByTag)},
	})
	if advice := oneSidedAdvice(s); advice != "" {
		fmt.Fprintf(t, "  %s\n", advice)
	}
}

// oneSidedAdvice gives advice about one-sided conversations, if there are any.
func oneSidedAdvice(s *inspect.OneSided) string {
	switch {
	case len(s.Strip) > 0:
		return fmt.Sprintf("for an analyzer that keys flows by VLAN or tunnel --strip %s leaves the upper row", strings.Join(s.Strip, ","))
	case s.After.Share() > s.Before.Share(), s.AfterByTag.Share() > s.BeforeByTag.Share():
		return "the first of equal packets is not enough: leave --keep flow at its default"
	case s.Before.Share() > 0.5:
		return "of most conversations one direction was not captured: check the mirror session"
	case s.Before.OneSided > 0:
		return "the other direction is not in the capture: nobody answered, or the mirror session leaves it out"
	}
	return ""
}

// inspectNotes describes anomalies of the input.
func inspectNotes(s *Summary) string {
	notes := show.Notes(
		show.Note{Count: s.NonIP, What: "without IP"},
		show.Note{Count: s.Truncated, What: "truncated"},
		show.Note{Count: s.NoTime, What: "without a timestamp"},
		show.Note{Count: s.Undecidable, What: "truncated too short to find copies"},
		show.Note{Count: s.ChecksumOnly, What: "known to be equal only by a checksum"},
		show.Note{Count: s.Dropped, What: "dropped by the kernel"},
		show.Note{Count: s.CardDropped, What: "lost before by the network card or the host"},
		show.Note{Count: s.EvictedLive, What: "forgotten too early"},
		show.Note{Count: s.Uncounted, What: "of points that the matrix has no room for"},
	)
	if s.Damaged {
		notes = strings.TrimPrefix(notes+", damaged input", ", ")
	}
	return notes
}

var kindsColumns = []show.Column{{Name: "copies differ in", Left: true}, {Name: "copies"}, {Name: "share"}}

// kindsRows counts the copies by their differences, the most frequent first.
func kindsRows(s *Summary) (rows [][]string) {
	for _, name := range show.Largest(s.Kinds) {
		rows = append(rows, []string{name, show.Count(s.Kinds[name]), show.Share(s.Kinds[name], s.Copies)})
	}
	return rows
}

// ttlSteps lists how the time to live of copies differs.
func ttlSteps(s *Summary) string {
	var words []string
	for _, step := range show.Largest(s.Hops) {
		words = append(words, fmt.Sprintf("%+d: %s", -step, show.Count(s.Hops[step])))
	}
	return strings.Join(words[:min(len(words), show.MaxRows)], ", ")
}

var matrixColumns = []show.Column{
	{Name: "first seen at", Left: true}, {Name: "copied at", Left: true}, {Name: "copies"},
	{Name: "p50"}, {Name: "p90"}, {Name: "p99"}, {Name: "p99.9"}, {Name: "max"},
}

// matrixRows has the copies and delays of each pair of points.
func matrixRows(s *Summary) (rows [][]string) {
	for i := range s.Matrix {
		c := &s.Matrix[i]
		row := []string{show.Printable(c.First), show.Printable(c.Copy), show.Count(c.Count)}
		for _, d := range []int64{c.Delay.P50, c.Delay.P90, c.Delay.P99, c.Delay.P999, c.Delay.Max} {
			row = append(row, show.Delay(d))
		}
		rows = append(rows, row)
	}
	return rows
}

var pathColumns = []show.Column{{Name: "path", Left: true}, {Name: "frames"}, {Name: "missed"}, {Name: "share"}}

// pathRows says how many frames came on each path of a redundant network, and how many came
// only on the other one.
func pathRows(s *Summary) (rows [][]string) {
	for _, p := range s.Paths {
		rows = append(rows, []string{p.Path, show.Count(p.Frames), show.Count(p.Missed), show.Share(p.Missed, p.Frames+p.Missed)})
	}
	return rows
}

var repeatsColumns = []show.Column{{Name: "equal, but sent again", Left: true}, {Name: "packets"}, {Name: "for example", Left: true}}

// repeatsRows describes the equal packets of each protocol.
func repeatsRows(s *Summary) (rows [][]string) {
	for _, name := range show.Largest(s.NotCopies) {
		e := s.Examples[name]
		rows = append(rows, []string{name, show.Count(s.NotCopies[name]), fmt.Sprintf("packet %d like %d, %s apart: %s", e.Packet, e.Earlier, show.Delay(e.Delay), e.What)})
	}
	return rows
}

// removed says how many packets the command removes, and which of them are no copies.
func removed(r *recommendation) string {
	text := show.Some(r.Removes, "packet")
	switch {
	case r.Looped > 0 && r.Looped == r.Wrong:
		return fmt.Sprintf("%s, %s of them in loops", text, show.Count(r.Looped))
	case r.Looped > 0:
		return fmt.Sprintf("%s, %s of them no copies (%s in loops)", text, show.Count(r.Wrong), show.Count(r.Looped))
	case r.Wrong > 0:
		return fmt.Sprintf("%s, %s of them no copies", text, show.Count(r.Wrong))
	}
	if r.Removes == 1 {
		return text + ", which is a copy"
	}
	return text + ", all of them copies"
}

// writeRecommendation writes the recommended command, and why.
func writeRecommendation(t *show.Text, s *Summary) {
	r := &s.Recommendation
	switch {
	case s.Packets == 0:
		return // the first line says it
	case s.Conclusion == inspect.CannotTell:
		fmt.Fprintf(t, "\nRecommended: nothing, since copies cannot be told from other packets.\n")
	case s.Conclusion == inspect.Loops:
		fmt.Fprintf(t, "\nRecommended: find the loop or the sender, and do not de-duplicate.\n")
	case r.Command == "":
		fmt.Fprintf(t, "\nRecommended: do not de-duplicate.\n")
	default:
		t.WriteString("\nRecommended:\n\n")
		t.Command("    ", r.Command)
		if r.Check != "" {
			t.Command("    ", r.Check)
		}
		t.WriteByte('\n')
		fmt.Fprintf(t, "  removes     %s\n", removed(r))
		if r.doubtful > 0 {
			fmt.Fprintf(t, "              %s of them truncated too short to be sure\n", show.Count(r.doubtful))
		}
	}
	title := "because"
	for _, reason := range r.Reasons {
		fmt.Fprintf(t, "  %-11s %s\n", title, reason)
		title = ""
	}
}

var checksumColumns = []show.Column{{Name: "checksums right at", Left: true}, {Name: "seen first"}, {Name: "copied"}}

// checksumRows returns a row for each point, none if all checksums of copies are right.
func checksumRows(s *Summary) (rows [][]string) {
	wrong := func(c inspect.Checksums) bool { return c.FirstWrong+c.CopyWrong > 0 }
	if !slices.ContainsFunc(slices.Collect(maps.Values(s.Checksums)), wrong) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Checksums)) {
		c := s.Checksums[name]
		rows = append(rows, []string{show.Printable(name), rightSums(c.FirstValid, c.FirstWrong), rightSums(c.CopyValid, c.CopyWrong)})
	}
	return rows
}

// rightSums says which share of the checksums is right.
func rightSums(valid, wrong uint64) string {
	if valid+wrong == 0 {
		return "-"
	}
	return show.Percent(float64(valid), float64(valid+wrong), 0) + " of " + show.Count(valid+wrong)
}

// checksumsSection shows where checksums are right.
func checksumsSection(rows [][]string) page.Section {
	t := page.Table{Columns: checksumColumns, Rows: rows[:min(len(rows), page.MostRows)]}
	return page.Section{
		Heading: "Where checksums are right", Table: &t,
		Caption: "Of the packets with copies: at the sender's end of a mirror a network card has not filled checksums in yet, and analyzers drop such packets. With --ignore l4-checksum the copies with the right checksums stay.",
	}
}

var loopColumns = []show.Column{
	{Name: "loop or storm", Left: true}, {Name: "stations", Left: true}, {Name: "hosts", Left: true}, {Name: "packets"}, {Name: "seen"},
	{Name: "each up to"}, {Name: "every"}, {Name: "first packet"},
}

// loopRows describes the largest loops.
func loopRows(s *Summary) (rows [][]string) {
	for _, l := range s.Loops[:min(len(s.Loops), show.MaxRows)] {
		what := "the same frame"
		if l.Kind == inspect.RoutingLoop {
			what = "falling time to live"
		}
		rows = append(rows, []string{
			l.What + ", " + what, strings.Join(l.Stations, " "), strings.Join(l.Hosts, " "), show.Count(l.Different), show.Count(l.Sightings),
			show.Count(l.Most) + " times", show.Delay(l.Every), show.Count(l.Packet),
		})
	}
	return rows
}

// loopSection shows what a network repeats.
func loopSection(s *Summary) page.Section {
	return page.Section{
		Heading: "Loops and storms", Table: &page.Table{Columns: loopColumns, Rows: loopRows(s)},
		Caption: "A network or a sender repeats these packets, and no mirror. A frame that stays the same goes in circles between switches, or its sender makes a storm of it. " +
			"A time to live that falls with each pass between the same stations goes in circles between routers.",
	}
}
