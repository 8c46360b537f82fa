// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/flowdedup/flowdedup/capture/diffs"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// DedupJSON writes the summary as one object on one line.
func DedupJSON(w io.Writer, s *dedup.Summary) error {
	return json.NewEncoder(w).Encode(s)
}

// DedupText writes the summary as text. written says that the kept packets were written
// somewhere.
func DedupText(w io.Writer, s *dedup.Summary, written bool) error {
	return dedupText(w, s, written, fmt.Sprintf("speed       %s, %.2f million packets/s", elapsed(s), s.PacketsPerSecond/1e6))
}

func elapsed(s *dedup.Summary) time.Duration {
	return time.Duration(s.Seconds * float64(time.Second)).Round(time.Millisecond)
}

// dedupText writes the summary; rate is its last line.
func dedupText(w io.Writer, s *dedup.Summary, written bool, rate string) error {
	var t strings.Builder
	verb, place := "found", "left"
	switch {
	case s.Marked:
		verb = "marked"
	case written:
		verb, place = "removed", "written"
	}
	fmt.Fprintf(&t, "%s packets in, %s duplicates %s (%s), %s packets %s\n",
		show.Count(s.PacketsIn), show.Count(s.Duplicates), verb, show.Share(s.Duplicates, s.PacketsIn), show.Count(s.PacketsOut), place)
	if s.Duplicates > 0 {
		fmt.Fprintf(&t, "  duplicates  %s\n", protocols(s.DuplicatesByProtocol))
	}
	t.WriteString(inputs(s.Inputs))
	if s.Filtered > 0 {
		fmt.Fprintf(&t, "  filtered    %s packets, counted nowhere else\n", show.Count(s.Filtered))
	}
	if s.Unjudged != nil {
		fmt.Fprintf(&t, "  unjudged    %s packets, which did not match --only and stay\n", show.Count(*s.Unjudged))
	}
	if s.Protected != nil {
		fmt.Fprintf(&t, "  protected   %s duplicates, which match --protect and stay\n", show.Count(*s.Protected))
	}
	if s.Undecidable > 0 {
		fmt.Fprintf(&t, "  undecidable %s packets, of which too little was captured, and which stay\n", show.Count(s.Undecidable))
	}
	if s.ChecksumOnly > 0 {
		fmt.Fprintf(&t, "  checksum    %s duplicates are known by 16 bits alone; at most %.1e of the pairs of one flow and length are wrong\n", show.Count(s.ChecksumOnly), s.ChecksumOnlyError)
	}
	if s.HubCopies != nil {
		fmt.Fprintf(&t, "  hub         %s duplicates of other sites%s%s\n", show.Count(*s.HubCopies),
			show.Also(show.Note{Count: *s.Unchecked, What: "packets unchecked, which stay"}), answers(s.HubDelay))
	}
	if s.HeldBytes != nil && *s.HeldBytes > 0 {
		fmt.Fprintf(&t, "  held        %s at most, for better copies\n", show.Bytes(*s.HeldBytes))
	}
	if s.ChecksumPreferred != nil {
		fmt.Fprintf(&t, "  preferred   %s packets to equal ones with a wrong checksum, %s to truncated ones\n", show.Count(*s.ChecksumPreferred), show.Count(*s.WholePreferred))
	}
	if s.Stripped != nil {
		fmt.Fprintf(&t, "  stripped    %s packets%s\n", show.Count(*s.Stripped), show.Also(show.Note{Count: *s.Unstripped, What: "with a header that could not be taken off"}))
	}
	if s.Sliced != nil {
		fmt.Fprintf(&t, "  sliced      %s packets%s\n", show.Count(*s.Sliced), show.Also(show.Note{Count: *s.Unsliced, What: "that could not be cut"}))
	}
	if s.SortedLate != nil {
		fmt.Fprintf(&t, "  sorted      by time, %s packets came too late for that\n", show.Count(*s.SortedLate))
	}
	fmt.Fprintf(&t, "  compared    by %s identity %s%s\n", s.Identity, within(s.Window), groups(s.Within))
	fmt.Fprintf(&t, "  method      %s in %s, %s\n", s.Method, show.Bytes(s.MemoryBytes), risk(s.PredictedFPR)+edge(s.EdgeError))
	if notes := anomalies(s); notes != "" {
		fmt.Fprintf(&t, "  noticed     %s\n", notes)
	}
	if text := show.NotOpened(s.Unopened, s.PacketsIn); text != "" {
		fmt.Fprintf(&t, "  not opened  %s\n", text)
	}
	if n := s.Conversations.String(); n != "" {
		fmt.Fprintf(&t, "  split       %s\n", n)
	}
	if s.Files != nil {
		fmt.Fprintf(&t, "  files       %s\n", show.Count(*s.Files))
	}
	if s.FirstTimestamp != nil {
		fmt.Fprintf(&t, "  time        %s to %s\n", *s.FirstTimestamp, *s.LastTimestamp)
	}
	fmt.Fprintf(&t, "  %s\n", rate)
	_, err := io.WriteString(w, t.String())
	return err
}

// answers describes how long answers of a hub took, if there were any.
func answers(d *dedup.HubDelay) string {
	if d.P99 == 0 {
		return ""
	}
	return fmt.Sprintf(", 99 %% of answers within %s", d.P99)
}

// heldEarly returns how many packets could not be held as long as they should.
func heldEarly(s *dedup.Summary) uint64 {
	if s.HeldEarly == nil {
		return 0
	}
	return *s.HeldEarly
}

// maxInputs is how many inputs get a line.
const maxInputs = 16

// inputs describes what came from each input.
func inputs(all []dedup.InputCount) string {
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
	if n, ok := strings.CutPrefix(window, "n:"); ok {
		return "within " + n + " packets"
	}
	return "within " + window
}

// groups describes what copies had in common.
func groups(within []string) string {
	if len(within) == 0 {
		return ""
	}
	return ", with the same " + strings.Join(within, ", ")
}

// risk describes the rate of false positives in words.
func risk(fpr float64) string {
	if fpr == 0 {
		return "no packet wrongly taken for a copy"
	}
	return fmt.Sprintf("at most %.1e packets wrongly taken for a copy for each packet read", fpr)
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

// anomalies describes what the user may not expect in the input.
func anomalies(s *dedup.Summary) string {
	notes := show.Notes(
		show.Note{Count: s.NonIP, What: "without IP"},
		show.Note{Count: s.Snapped, What: "captured in part"},
		show.Note{Count: s.OutOfOrder, What: "out of time order"},
		show.Note{Count: s.NoTimestamp, What: "without a timestamp"},
		show.Note{Count: s.EvictedLive, What: "forgotten too early"},
		show.Note{Count: s.LateForgotten, What: "too late for what was remembered"},
		show.Note{Count: heldEarly(s), What: "settled before better copies could come"},
	)
	if s.Damaged {
		notes = strings.TrimPrefix(notes+", damaged input", ", ")
	}
	return notes
}

// LiveJSON writes the summary as one object on one line.
func LiveJSON(w io.Writer, s *live.Summary) error {
	return json.NewEncoder(w).Encode(s)
}

// LiveText writes the summary as text. written says that the kept packets were written
// somewhere.
func LiveText(w io.Writer, s *live.Summary, written bool) error {
	// The possible speed is unknown: a live run is as fast as its packets.
	rate := fmt.Sprintf("traffic     %s packets/s over %s", show.Count(uint64(math.Round(s.PacketsPerSecond))), elapsed(&s.Summary))
	if err := dedupText(w, &s.Summary, written, rate); err != nil {
		return err
	}
	var t strings.Builder
	if n := s.Learned; n != nil {
		fmt.Fprintf(&t, "  learned     %s%s\n", learned(n), show.Also(show.Note{Count: n.Passed, What: "packets passed without being judged"}))
	}
	if s.Diffs.Sampled > 0 {
		fmt.Fprintf(&t, "  copies      %s\n", diffsText(&s.Diffs))
	}
	for i := range s.Interfaces {
		n := &s.Interfaces[i]
		fmt.Fprintf(&t, "  %-11s %s\n", show.Printable(n.Name), ofInterface(n))
	}
	if f := s.Forward; f != nil {
		fmt.Fprintf(&t, "  forwarded   %s packets to %s%s\n", show.Count(f.Sent), show.Printable(f.Interface),
			show.Also(show.Note{Count: f.Lost, What: "lost while it was away"}, show.Note{Count: f.Refused, What: "refused"}, show.Note{Count: f.Truncated, What: "cut"}, show.Note{Count: f.TooLong, What: "too long"},
				show.Note{Count: f.NotEthernet, What: "without Ethernet"}))
	}
	if s.Late > 0 {
		fmt.Fprintf(&t, "  late        %s packets came after their window had closed\n", show.Count(s.Late))
	}
	if s.WithoutPorts > 0 {
		fmt.Fprintf(&t, "  ports       of %s packets were not captured: their flows count as one for each pair of ends\n", show.Count(s.WithoutPorts))
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// learned says what a run found out.
func learned(n *monitor.Learned) string {
	if n.Decisions == 0 {
		return "nothing yet"
	}
	return show.Capitalized(n.Verdict)
}

// ofInterface describes what happened at an input.
func ofInterface(n *live.Interface) string {
	if n.Network != nil && n.ReceiverStats != nil {
		return fmt.Sprintf("%s received from %s", show.Count(n.Received), english.Plural(int(n.Peers), "peer", "")) +
			show.Also(show.Note{Count: n.PeersDropped, What: "dropped"}, show.Note{Count: n.LatePackets, What: "packets late"})
	}
	notes := ""
	if n.Network != nil && n.Mirrored != nil {
		notes = show.Also(show.Note{Count: uint64(n.Points), What: english.PluralWord(n.Points, "capture point", "")},
			show.Note{Count: n.AllMalformed(), What: "malformed"}, show.Note{Count: n.Control, What: "without a packet"}, show.Note{Count: n.Unwanted, What: "unwanted"})
	}
	return notesOfKernel(n) + notes
}

// notesOfKernel describes what the kernel says of an interface or a socket.
func notesOfKernel(n *live.Interface) string {
	return fmt.Sprintf("%s received, %s dropped by the kernel", show.Count(n.Received), show.Count(n.Dropped)) +
		show.Also(show.Note{Count: n.Outages, What: "times down or away"}, show.Note{Count: n.Truncated, What: "cut"},
			show.Note{Count: n.Coalesced, What: "merged by receive offload"}, show.Note{Count: n.ChecksumOffloaded, What: "with unfilled checksums"})
}

// diffsText describes how copies differed, as shares of the sample.
func diffsText(r *diffs.Counts) string {
	var words []string
	for _, one := range []show.Note{
		{Count: r.Exact, What: "exact"}, {Count: r.VLAN, What: "of another VLAN"}, {Count: r.TTL, What: "of another TTL"}, {Count: r.MAC, What: "of other MAC addresses"},
		{Count: r.Interface, What: "of another interface"}, {Count: r.Other, What: "otherwise different"},
	} {
		if one.Count > 0 {
			words = append(words, show.Percent(float64(one.Count), float64(r.Sampled), 1)+" "+one.What)
		}
	}
	return strings.Join(words, ", ")
}
