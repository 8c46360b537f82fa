// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// writeText writes the summary as text. written says that the kept packets were written
// somewhere.
func writeText(w io.Writer, columns int, s *Summary, written bool) error {
	kept := ""
	if written {
		kept = "written"
	}
	return WriteText(w, columns, s, kept, show.Speed(s.Took, "%.2f million packets/s", s.PacketsPerSecond/1e6))
}

// Elapsed returns how long the run took, in milliseconds.
func (s *Summary) Elapsed() time.Duration {
	return s.Took.Round(time.Millisecond)
}

// WriteText writes the summary as text for a terminal of this width: see show.NewText. kept says what
// became of the kept packets, such as "written"; it is empty if nothing was to be written. rate is the
// last line, if any.
func WriteText(w io.Writer, columns int, s *Summary, kept, rate string) error {
	t := show.NewText(columns)
	verb, place := "removed", kept
	switch {
	case s.Marked:
		verb, place = "marked", "left"
	case kept == "":
		verb, place = "found", "left"
	}
	fmt.Fprintf(t, "%s in, %s %s (%s), %s %s\n",
		show.Some(s.PacketsIn, "packet"), show.Some(s.Duplicates, "duplicate"), verb, show.Share(s.Duplicates, s.PacketsIn), show.Some(s.PacketsOut, "packet"), place)
	if s.Duplicates > 0 {
		fmt.Fprintf(t, "  duplicates  %s\n", protocols(s.DuplicatesByProtocol))
	}
	if s.BytesIn > s.BytesOut && !s.Marked {
		saved, how := s.BytesIn-s.BytesOut, "saved"
		if kept == "" {
			how = "in duplicates"
		}
		fmt.Fprintf(t, "  bytes       %s of %s %s (%s)\n", show.Bytes(saved), show.Bytes(s.BytesIn), how, show.Share(saved, s.BytesIn))
	}
	t.WriteString(inputs(s.Inputs))
	writeVerdicts(t, s)
	writeOutputs(t, s)
	writeMethod(t, s, kept != "")
	t.WriteString(rate)
	return t.Flush(w)
}

// writeVerdicts writes which packets were judged, and by what.
func writeVerdicts(t *show.Text, s *Summary) {
	if s.Filtered > 0 {
		fmt.Fprintf(t, "  filtered    %s, counted nowhere else\n", show.Some(s.Filtered, "packet"))
	}
	if s.Unjudged != nil {
		fmt.Fprintf(t, "  unjudged    %s\n", show.Some(*s.Unjudged, "packet, which does not match --only and stays", "packets, which do not match --only and stay"))
	}
	if s.Protected != nil {
		fmt.Fprintf(t, "  protected   %s\n", show.Some(*s.Protected, "duplicate, which matches --protect and stays", "duplicates, which match --protect and stay"))
	}
	if s.Undecidable > 0 {
		fmt.Fprintf(t, "  undecidable %s\n", show.Some(s.Undecidable, "packet was truncated too short to judge, and stays", "packets were truncated too short to judge, and stay"))
	}
	if s.ChecksumOnly > 0 {
		fmt.Fprintf(t, "  checksum    %s known only by a checksum of 16 bits; at most %.1e of the pairs of one flow and length are wrong\n", show.Some(s.ChecksumOnly, "duplicate is", "duplicates are"), s.ChecksumOnlyError)
	}
	if s.Stats != nil && s.Joined+s.Left > 0 {
		fmt.Fprintf(t, "  fragments   %s of tunnels put together, in %s%s\n", show.Some(s.Joined, "fragment"), show.Some(s.Datagrams, "packet"),
			show.Also(show.Note{Count: s.Left, What: "left as they came, since others are missing or contradict them"}))
	}
	if s.HubCopies != nil {
		fmt.Fprintf(t, "  hub         %s found by the hub%s%s\n", show.Some(*s.HubCopies, "duplicate"),
			show.Also(show.Note{Count: *s.Unchecked, What: "packets unchecked, which stay"}), answers(s))
	}
}

// writeOutputs writes what happened to the packets that stay.
func writeOutputs(t *show.Text, s *Summary) {
	if s.HeldBytes != nil && *s.HeldBytes > 0 {
		fmt.Fprintf(t, "  held        %s at most, for better copies\n", show.Bytes(*s.HeldBytes))
	}
	if s.ChecksumPreferred != nil {
		fmt.Fprintf(t, "  preferred   %s to equal ones with a wrong checksum, %s to truncated ones\n", show.Some(*s.ChecksumPreferred, "packet"), show.Count(*s.WholePreferred))
	}
	if s.Stripped != nil {
		fmt.Fprintf(t, "  stripped    %s%s\n", show.Some(*s.Stripped, "packet"), show.Also(show.Note{Count: *s.Unstripped, What: "with a header that could not be taken off"}))
	}
	if s.Sliced != nil {
		fmt.Fprintf(t, "  sliced      %s%s\n", show.Some(*s.Sliced, "packet"), show.Also(show.Note{Count: *s.Unsliced, What: "that could not be cut"}))
	}
	if s.SortedLate != nil {
		fmt.Fprintf(t, "  sorted      by time; %s came too late\n", show.Some(*s.SortedLate, "packet"))
	}
}

// writeMethod writes how packets were compared, and what was noticed in them. How conversations are
// kept is said only of written packets.
func writeMethod(t *show.Text, s *Summary, written bool) {
	fmt.Fprintf(t, "  compared    by %s identity %s%s\n", s.Identity, within(s.Window), groups(s.Within))
	fmt.Fprintf(t, "  method      %s in %s, %s\n", s.Method, show.Bytes(s.MemoryBytes), risk(s.PredictedFPR)+edge(s.EdgeError))
	if notes := anomalies(s); notes != "" {
		fmt.Fprintf(t, "  noticed     %s\n", notes)
	}
	if text := show.NotOpened(s.Unopened, s.PacketsIn); text != "" {
		fmt.Fprintf(t, "  not opened  %s\n", text)
	}
	if n := s.Conversations.String(); written && n != "" {
		fmt.Fprintf(t, "  split       %s\n", n)
	}
	if s.Files != nil {
		fmt.Fprintf(t, "  files       %s\n", show.Count(*s.Files))
	}
	if s.FirstTimestamp != nil {
		fmt.Fprintf(t, "  time        %s to %s\n", *s.FirstTimestamp, *s.LastTimestamp)
	}
}

// answers describes how long answers of a hub took, if there were any.
func answers(s *Summary) string {
	switch {
	case s.HubDelay.P99 == 0:
		return ""
	case *s.Unchecked > 0:
		return fmt.Sprintf(", 99 %% of answers to others within %s", s.HubDelay.P99)
	}
	return fmt.Sprintf(", all answered, 99 %% within %s", s.HubDelay.P99)
}

// heldEarly returns how many packets could not be held as long as they should.
func heldEarly(s *Summary) uint64 {
	if s.HeldEarly == nil {
		return 0
	}
	return *s.HeldEarly
}

// maxInputs is how many inputs get a line.
const maxInputs = 16

// inputs describes the packets of each input.
func inputs(all []inputCount) string {
	if len(all) > maxInputs {
		return fmt.Sprintf("  inputs      %d, each of them in --json\n", len(all))
	}
	var t strings.Builder
	title := "inputs"
	for i := range all {
		n := &all[i]
		fmt.Fprintf(&t, "  %-11s %s packets, %s duplicates (%s): %s\n",
			title, show.Count(n.Packets), show.Count(n.Duplicates), show.Share(n.Duplicates, n.Packets), show.Printable(n.Input))
		title = ""
	}
	return t.String()
}

// within describes a window in words.
func within(window string) string {
	if window == "none" {
		return "over the whole input"
	}
	if length, ok := strings.CutPrefix(window, "landmark:"); ok {
		return "in landmark windows of " + strings.TrimPrefix(within(length), "within ")
	}
	if n, ok := strings.CutPrefix(window, "n:"); ok {
		return "within " + n + " packets"
	}
	return "within " + window
}

// groups describes the points that copies had in common.
func groups(within []string) string {
	if len(within) == 0 {
		return ""
	}
	return ", with the same " + strings.Join(within, ", ")
}

// risk describes the rate of false positives in words.
func risk(fpr float64) string {
	if fpr == 0 {
		return "no false copies"
	}
	return fmt.Sprintf("false copies: at most %.1e of all packets", fpr)
}

// edge says by how much windows may be too long, if that is worth a word.
func edge(share float64) string {
	if share == 0 {
		return ""
	}
	return fmt.Sprintf(", windows up to %.1f %% too long", 100*share)
}

// protocols lists counts, the largest first.
func protocols(m map[string]uint64) string {
	names := show.Largest(m)
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %s", name, show.Count(m[name]))
	}
	return strings.Join(names, ", ")
}

// unverified returns how many packets were kept as --verify-copies did not know them.
func unverified(s *Summary) uint64 {
	if s.Unverified == nil {
		return 0
	}
	return *s.Unverified
}

// anomalies describes the anomalies of the input.
func anomalies(s *Summary) string {
	notes := show.Notes(
		show.Note{Count: s.NonIP, What: "without IP"},
		show.Note{Count: s.Truncated, What: "truncated"},
		show.Note{Count: s.OutOfOrder, What: "out of time order"},
		show.Note{Count: s.NoTimestamp, What: "without a timestamp"},
		show.Note{Count: s.EvictedLive, What: "forgotten too early"},
		show.Note{Count: unverified(s), What: "taken for duplicates and not verified"},
		show.Note{Count: s.LateForgotten, What: "older than the filter remembers"},
		show.Note{Count: heldEarly(s), What: "kept before a better copy could come"},
	)
	if s.Damaged {
		notes = strings.TrimPrefix(notes+", damaged input", ", ")
	}
	return notes
}
