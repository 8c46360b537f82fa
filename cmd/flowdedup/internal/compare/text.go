// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// writeText writes the summary as text.
func writeText(w io.Writer, columns int, s *Summary) error {
	t := show.NewText(columns)
	fmt.Fprintf(t, "%s\n\n", show.Sentence(s.Verdict))
	compareSide(t, "A", &s.A, s.OnlyA-s.A.Outside)
	compareSide(t, "B", &s.B, s.OnlyB-s.B.Outside)
	if s.Filtered > 0 {
		fmt.Fprintf(t, "  filtered    %s, counted nowhere else\n", show.Some(s.Filtered, "packet"))
	}
	if s.Unpathed > 0 {
		fmt.Fprintf(t, "  no LAN      %s, counted nowhere else\n", show.Some(s.Unpathed, "packet"))
	}
	fmt.Fprintf(t, "  both        %s, %s reordered\n", show.Count(s.Both), show.Count(s.Reordered))
	t.Fact("offset", offsetText(s))
	t.Fact("drift", driftText(s))
	delayTable(t, s)
	t.Table(protocolColumns, protocolRows(s))
	t.Table(conversationColumns, conversationRows(s))
	if s.ConversationsEvicted && len(s.Conversations) > 0 {
		fmt.Fprintf(t, "  too many conversations to count all: small ones may be missing\n")
	}
	fmt.Fprintf(t, "\n  compared    %s, in %s\n", comparedText(s), show.Bytes(s.MemoryBytes))
	t.WriteString(show.Speed(s.Took, "%.2f million packets/s", s.Rate/1e6))
	return t.Flush(w)
}

// compareSide describes the packets of a side.
func compareSide(t *show.Text, name string, s *side, only uint64) {
	fmt.Fprintf(t, "  %s           %s: %s, %s of them only in %s%s\n", name, sideName(s, s.Input), show.Some(s.Packets, "packet"), show.Count(only), name,
		show.Also(show.Note{Count: s.Outside, What: "before or after the other capture"}))
	t.Fact("", sideNotes(s))
	if text := show.NotOpened(s.Unopened, s.Packets); text != "" {
		fmt.Fprintf(t, "              not opened: %s\n", text)
	}
}

// sideName names a side by its input, and its LAN.
func sideName(s *side, input string) string {
	if s.LAN != "" {
		return show.Printable(input) + ", LAN " + s.LAN
	}
	return show.Printable(input)
}

// sideNotes describes anomalies of an input.
func sideNotes(s *side) string {
	return show.Notes(
		show.Note{Count: s.NonIP, What: "without IP"}, show.Note{Count: s.Truncated, What: "truncated"},
		show.Note{Count: s.Disorder, What: "out of order"}, show.Note{Count: s.NoTime, What: "without a timestamp"},
		show.Note{Count: s.Repeats, What: "repeated"}, show.Note{Count: s.Undecidable, What: "truncated so short that they equal others"},
	)
}

// offsetText describes the offset of the clocks.
func offsetText(s *Summary) string {
	if s.OffsetNS == nil {
		return "unknown"
	}
	return fmt.Sprintf("%+.9f s: clock of B minus clock of A, with the median delay, at %s", float64(*s.OffsetNS)/1e9, *s.OffsetAt)
}

// driftText says how fast they drift.
func driftText(s *Summary) string {
	if s.DriftPPM == nil {
		return "unknown: too few packets in both, or too short a time"
	}
	return fmt.Sprintf("%+.3f ppm, ±%.3f", *s.DriftPPM, *s.DriftError)
}

// comparedText describes how packets were compared.
func comparedText(s *Summary) string {
	bytes := ""
	if s.IdentityBytes > 0 {
		bytes = fmt.Sprintf(", the first %d bytes", s.IdentityBytes)
	}
	return fmt.Sprintf("by %s%s, within %s", s.Identity, bytes, s.Window)
}

// delayTable shows the delays.
func delayTable(t *show.Text, s *Summary) {
	d := s.DelayNS
	if d == nil {
		return
	}
	t.Table([]show.Column{{Name: "delay above the fastest", Left: true}, {Name: "p50"}, {Name: "p90"}, {Name: "p99"}, {Name: "p99.9"}, {Name: "max"}},
		[][]string{{"offset and drift removed", show.Delay(d.P50), show.Delay(d.P90), show.Delay(d.P99), show.Delay(d.P999), show.Delay(d.Max)}})
	bins := coarse(s.Delays, d.P50/tiny, show.MaxRows)
	most := uint64(1)
	for _, b := range bins {
		most = max(most, b.Count)
	}
	var rows [][]string
	for _, b := range bins {
		rows = append(rows, []string{"below " + show.Delay(b.To), show.Count(b.Count), show.Bar(float64(b.Count)/float64(most), barWidth)})
	}
	t.Table([]show.Column{{Name: "delay"}, {Name: "packets"}, {Name: "", Left: true}}, rows)
}

// tiny is the divisor of the median delay at which the shown bins begin.
const tiny = 20

// coarse joins the bins below a delay, and neighbors until no more than most are left.
func coarse(bins []traits.Bin, from int64, most int) (joined []traits.Bin) {
	few := 0
	for few < len(bins) && bins[few].To <= from {
		few++
	}
	each := (len(bins)-few)/most + 1
	for i, b := range bins {
		if i == 0 || i > few && (i-few)%each == 0 {
			joined = append(joined, traits.Bin{From: b.From})
		}
		last := &joined[len(joined)-1]
		last.To, last.Count = b.To, last.Count+b.Count
	}
	return joined
}

// barWidth is how many columns the longest bar has.
const barWidth = 40

var protocolColumns = []show.Column{{Name: "protocol", Left: true}, {Name: "both"}, {Name: "only in A"}, {Name: "only in B"}}

// protocolsByLoss lists the protocols, by the number of packets that only one side has, the
// most first.
func protocolsByLoss(s *Summary) []string {
	order := map[string]uint64{}
	for name, c := range s.Protocols {
		order[name] = c.OnlyA + c.OnlyB
	}
	return show.Largest(order)
}

func protocolRows(s *Summary) (rows [][]string) {
	for _, name := range protocolsByLoss(s) {
		c := s.Protocols[name]
		rows = append(rows, []string{name, show.Count(c.Both), show.Count(c.OnlyA), show.Count(c.OnlyB)})
	}
	return rows
}

var conversationColumns = []show.Column{{Name: "conversation", Left: true}, {Name: "both"}, {Name: "only in A"}, {Name: "only in B"}, {Name: "reordered"}}

func conversationRows(s *Summary) (rows [][]string) {
	for i := range s.Conversations {
		c := &s.Conversations[i]
		rows = append(rows, []string{c.Name, show.Count(c.Both), show.Count(c.OnlyA), show.Count(c.OnlyB), show.Count(c.Reordered)})
	}
	return rows
}
