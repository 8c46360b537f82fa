// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// writeJSON writes the summary as one object on one line.
func writeJSON(w io.Writer, s *summary) error { return json.NewEncoder(w).Encode(s) }

// writeText writes the summary as text.
func writeText(w io.Writer, s *summary) error {
	var t strings.Builder
	fmt.Fprintf(&t, "%s\n\n", show.Sentence(s.Verdict))
	compareSide(&t, "A", &s.A, s.OnlyA)
	compareSide(&t, "B", &s.B, s.OnlyB)
	if s.Filtered > 0 {
		fmt.Fprintf(&t, "  filtered    %s packets, counted nowhere else\n", show.Count(s.Filtered))
	}
	if s.Unpathed > 0 {
		fmt.Fprintf(&t, "  no LAN      %s packets, counted nowhere else\n", show.Count(s.Unpathed))
	}
	fmt.Fprintf(&t, "  both        %s, %s reordered\n", show.Count(s.Both), show.Count(s.Reordered))
	fmt.Fprintf(&t, "  offset      %s\n", offsetText(s))
	fmt.Fprintf(&t, "  drift       %s\n", driftText(s))
	delayTable(&t, s)
	protocolTable(&t, s)
	conversationTable(&t, s)
	fmt.Fprintf(&t, "\n  compared    %s, in %s\n", comparedText(s), show.Bytes(s.MemoryBytes))
	fmt.Fprintf(&t, "  speed       %s, %.2f million packets/s\n", s.Took.Round(time.Millisecond), s.Rate/1e6)
	_, err := io.WriteString(w, t.String())
	return err
}

// compareSide describes the packets of a side.
func compareSide(t *strings.Builder, name string, s *side, only uint64) {
	fmt.Fprintf(t, "  %s           %s: %s packets, %s of them in %s alone%s\n", name, sideName(s), show.Count(s.Packets), show.Count(only), name,
		show.Also(show.Note{Count: s.Outside, What: "of those from before or after the other side"}))
	if notes := sideNotes(s); notes != "" {
		fmt.Fprintf(t, "              %s\n", notes)
	}
	if text := show.NotOpened(s.Unopened, s.Packets); text != "" {
		fmt.Fprintf(t, "              not opened: %s\n", text)
	}
}

// sideName names the input of a side, and its LAN.
func sideName(s *side) string {
	if s.LAN != "" {
		return show.Printable(s.Input) + ", LAN " + s.LAN
	}
	return show.Printable(s.Input)
}

// sideNotes describes what the user may not expect in an input.
func sideNotes(s *side) string {
	return show.Notes(
		show.Note{Count: s.NonIP, What: "without IP"}, show.Note{Count: s.Truncated, What: "captured in part"},
		show.Note{Count: s.Disorder, What: "out of order"}, show.Note{Count: s.NoTime, What: "without a timestamp"},
		show.Note{Count: s.Repeats, What: "repeated"}, show.Note{Count: s.Undecidable, What: "captured in too small a part to be told from others"},
	)
}

// offsetText says how far the clocks are apart.
func offsetText(s *summary) string {
	if s.OffsetNS == nil {
		return "unknown"
	}
	return fmt.Sprintf("%+.9f s: the clock of B less that of A, with the median delay, at %s", float64(*s.OffsetNS)/1e9, *s.OffsetAt)
}

// driftText says how fast they drift.
func driftText(s *summary) string {
	if s.DriftPPM == nil {
		return "unknown: too few packets in both, or too short a time"
	}
	return fmt.Sprintf("%+.3f ppm, ±%.3f", *s.DriftPPM, *s.DriftError)
}

// comparedText says by what packets were compared.
func comparedText(s *summary) string {
	bytes := ""
	if s.IdentityBytes > 0 {
		bytes = fmt.Sprintf(", the first %d bytes", s.IdentityBytes)
	}
	return fmt.Sprintf("by %s%s, within %s", s.Identity, bytes, s.Window)
}

// delayTable shows the delays.
func delayTable(t *strings.Builder, s *summary) {
	d := s.DelayNS
	if d == nil {
		return
	}
	show.WriteTable(t, []show.Column{{Name: "delay above the fastest", Left: true}, {Name: "p50"}, {Name: "p90"}, {Name: "p99"}, {Name: "p99.9"}, {Name: "max"}},
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
	show.WriteTable(t, []show.Column{{Name: "delay"}, {Name: "packets"}, {Name: "", Left: true}}, rows)
}

// tiny is what part of the median delay the bins begin with that are shown.
const tiny = 20

// coarse joins the bins below a delay, and neighbors until there are at most so many.
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

// protocolsByLoss lists the protocols, those with the most packets of one side alone first.
func protocolsByLoss(s *summary) []string {
	order := map[string]uint64{}
	for name, c := range s.Protocols {
		order[name] = c.OnlyA + c.OnlyB
	}
	return show.Largest(order)
}

func protocolRows(s *summary) (rows [][]string) {
	for _, name := range protocolsByLoss(s) {
		c := s.Protocols[name]
		rows = append(rows, []string{name, show.Count(c.Both), show.Count(c.OnlyA), show.Count(c.OnlyB)})
	}
	return rows
}

func protocolTable(t *strings.Builder, s *summary) {
	if len(s.Protocols) > 0 {
		show.WriteTable(t, protocolColumns, protocolRows(s))
	}
}

var conversationColumns = []show.Column{{Name: "conversation", Left: true}, {Name: "both"}, {Name: "only in A"}, {Name: "only in B"}, {Name: "reordered"}}

func conversationRows(s *summary) (rows [][]string) {
	for i := range s.Conversations {
		c := &s.Conversations[i]
		rows = append(rows, []string{c.Name, show.Count(c.Both), show.Count(c.OnlyA), show.Count(c.OnlyB), show.Count(c.Reordered)})
	}
	return rows
}

func conversationTable(t *strings.Builder, s *summary) {
	if len(s.Conversations) == 0 {
		return
	}
	show.WriteTable(t, conversationColumns, conversationRows(s))
	if s.ConversationsEvicted {
		fmt.Fprintf(t, "  too many conversations to count all: small ones may be missing\n")
	}
}
