// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// writeText writes the summary as text. written says that the kept packets were written
// somewhere.
func writeText(w io.Writer, columns int, s *monitor.Summary, written bool) error {
	if err := dedup.WriteText(w, columns, &s.Summary, kept(s, written)); err != nil {
		return err
	}
	t := show.NewText(columns)
	fmt.Fprintf(t, "  traffic     %s packets/s over %s\n", show.Count(uint64(math.Round(s.PacketsPerSecond))), s.Took.Round(time.Millisecond))
	if n := s.Learned; n != nil {
		fmt.Fprintf(t, "  learned     %s%s\n", learned(n), show.Also(show.Note{Count: n.Passed, What: "packets kept unjudged"}))
	}
	if s.Diffs.Sampled > 0 {
		fmt.Fprintf(t, "  copies      %s\n", diffsText(&s.Diffs))
	}
	for i := range s.Interfaces {
		n := &s.Interfaces[i]
		fmt.Fprintf(t, "  %-11s %s\n", show.Printable(n.Name), ofInterface(n))
	}
	if len(s.Outputs) > 1 || len(s.Outputs) == 1 && s.Outputs[0].Lost > 0 { // else the counts stand above
		for _, o := range s.Outputs {
			fmt.Fprintf(t, "  written     %s to %s%s\n", show.Some(o.Packets, "packet"), show.Printable(o.Name), show.Also(show.Note{Count: o.Lost, What: "lost"}))
		}
	}
	for _, f := range s.Forwards {
		fmt.Fprintf(t, "  forwarded   %s to %s%s\n", show.Some(f.Sent, "packet"), show.Printable(f.Interface),
			show.Also(show.Note{Count: f.Lost, What: "lost while it was away"}, show.Note{Count: f.Refused, What: "refused"}, show.Note{Count: f.Truncated, What: "truncated"}, show.Note{Count: f.TooLong, What: "too long"},
				show.Note{Count: f.NotEthernet, What: "without Ethernet"}))
	}
	if s.Unprocessed > 0 {
		fmt.Fprintf(t, "  unprocessed %s, captured when the run ended\n", show.Some(s.Unprocessed, "packet"))
	}
	if s.Late > 0 {
		fmt.Fprintf(t, "  late        %s window had closed\n", show.Some(s.Late, "packet came after its", "packets came after their"))
	}
	if s.WithoutPorts > 0 {
		fmt.Fprintf(t, "  ports       of %s were not captured: their flows count as one for each pair of addresses\n", show.Some(s.WithoutPorts, "packet"))
	}
	return t.Flush(w)
}

// kept says what became of the kept packets: "written" only if all were.
func kept(s *monitor.Summary, written bool) string {
	switch {
	case !written:
		return ""
	case s.Incomplete:
		return "kept"
	}
	return "written"
}

// learned describes the result of learning.
func learned(n *monitor.Learned) string {
	if n.Decisions == 0 {
		return "nothing yet"
	}
	return show.Capitalized(n.Verdict)
}

// ofInterface describes the packets of an input.
func ofInterface(n *monitor.Interface) string {
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

// notesOfKernel describes the kernel's counts of an interface or a socket.
func notesOfKernel(n *monitor.Interface) string {
	text := show.Count(n.Received) + " received"
	if n.CardDropped > 0 {
		text += fmt.Sprintf(", at least %s lost before by the network card or the host (%s)", show.Count(n.CardDropped), n.Card)
	}
	if n.Dropped > 0 || n.CardDropped == 0 {
		text += fmt.Sprintf(", %s dropped by the kernel", show.Count(n.Dropped))
	}
	return text +
		show.Also(show.Note{Count: n.TooLong, What: "of them too long"}, show.Note{Count: n.ToHost, What: "of them left to the host"}, show.Note{Count: n.Outages, What: "times down or away"}, show.Note{Count: n.Truncated, What: "truncated"},
			show.Note{Count: n.Coalesced, What: "merged by receive offload"}, show.Note{Count: n.ChecksumOffloaded, What: "with unfilled checksums"})
}

// diffsText describes how copies differed, as shares of the sample.
func diffsText(r *traits.Counts) string {
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
