package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/compare"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// CompareJSON writes the summary as one object on one line.
func CompareJSON(w io.Writer, s *compare.Summary) error { return json.NewEncoder(w).Encode(s) }

// CompareText writes the summary as text.
func CompareText(w io.Writer, s *compare.Summary) error {
	var t strings.Builder
	fmt.Fprintf(&t, "%s\n\n", capitalized(s.Verdict))
	compareSide(&t, "A", &s.A, s.OnlyA)
	compareSide(&t, "B", &s.B, s.OnlyB)
	if s.Filtered > 0 {
		fmt.Fprintf(&t, "  filtered    %s packets, counted nowhere else\n", show.Count(s.Filtered))
	}
	fmt.Fprintf(&t, "  both        %s, %s reordered\n", show.Count(s.Both), show.Count(s.Reordered))
	compareClocks(&t, s)
	delayTable(&t, s)
	protocolTable(&t, s)
	conversationTable(&t, s)
	bytes := ""
	if s.IdentityBytes > 0 {
		bytes = fmt.Sprintf(", the first %d bytes", s.IdentityBytes)
	}
	fmt.Fprintf(&t, "\n  compared    by %s%s, within %s, in %s\n", s.Identity, bytes, s.Window, show.Bytes(s.MemoryBytes))
	fmt.Fprintf(&t, "  speed       %s, %.2f million packets/s\n", time.Duration(s.Seconds*1e9).Round(time.Millisecond), s.Rate/1e6)
	_, err := io.WriteString(w, t.String())
	return err
}

// compareSide describes the packets of a side.
func compareSide(t *strings.Builder, name string, s *compare.Side, only uint64) {
	fmt.Fprintf(t, "  %s           %s: %s packets, %s of them in %s alone%s\n", name, show.Printable(s.Input), show.Count(s.Packets), show.Count(only), name,
		also(show.Note{Count: s.Outside, What: "of those from before or after the other side"}))
	if notes := show.Notes(
		show.Note{Count: s.NonIP, What: "without IP"}, show.Note{Count: s.Snapped, What: "captured in part"},
		show.Note{Count: s.OutOfOrder, What: "out of order"}, show.Note{Count: s.NoTimestamp, What: "without a timestamp"},
		show.Note{Count: s.Repeats, What: "repeated"},
	); notes != "" {
		fmt.Fprintf(t, "              %s\n", notes)
	}
}

// compareClocks describes how far the clocks are apart.
func compareClocks(t *strings.Builder, s *compare.Summary) {
	if s.OffsetNS == nil {
		fmt.Fprintf(t, "  offset      unknown\n")
		return
	}
	fmt.Fprintf(t, "  offset      %+.9f s: the clock of B less that of A, with the median delay, at %s\n", float64(*s.OffsetNS)/1e9, *s.OffsetAt)
	if s.DriftPPM == nil {
		fmt.Fprintf(t, "  drift       unknown: too few packets in both, or too short a time\n")
		return
	}
	fmt.Fprintf(t, "  drift       %+.3f ppm, ±%.3f\n", *s.DriftPPM, *s.DriftError)
}

// delayTable shows the delays.
func delayTable(t *strings.Builder, s *compare.Summary) {
	d := s.DelayNS
	if d == nil {
		return
	}
	table(t, []show.Column{{Name: "delay above the fastest", Left: true}, {Name: "p50"}, {Name: "p90"}, {Name: "p99"}, {Name: "p99.9"}, {Name: "max"}},
		[][]string{{"offset and drift removed", delay(d.P50), delay(d.P90), delay(d.P99), delay(d.P999), delay(d.Max)}})
	var rows [][]string
	most := uint64(0)
	for _, b := range s.Histogram {
		most = max(most, b.Packets)
	}
	for _, b := range s.Histogram {
		rows = append(rows, []string{"below " + delay(b.To), show.Count(b.Packets), show.Bar(float64(b.Packets)/float64(most), barWidth)})
	}
	table(t, []show.Column{{Name: "delay"}, {Name: "packets"}, {Name: "", Left: true}}, rows)
}

// barWidth is how many columns the longest bar has.
const barWidth = 40

// protocolTable shows the protocols, those with the most packets of one side alone first.
func protocolTable(t *strings.Builder, s *compare.Summary) {
	if len(s.Protocols) == 0 {
		return
	}
	order := map[string]uint64{}
	for name, c := range s.Protocols {
		order[name] = c.OnlyA + c.OnlyB
	}
	var rows [][]string
	for _, name := range largest(order) {
		c := s.Protocols[name]
		rows = append(rows, []string{name, show.Count(c.Both), show.Count(c.OnlyA), show.Count(c.OnlyB)})
	}
	table(t, []show.Column{{Name: "protocol", Left: true}, {Name: "both"}, {Name: "only in A"}, {Name: "only in B"}}, rows)
}

func conversationTable(t *strings.Builder, s *compare.Summary) {
	if len(s.Conversations) == 0 {
		return
	}
	var rows [][]string
	for i := range s.Conversations {
		c := &s.Conversations[i]
		rows = append(rows, []string{c.Name, show.Count(c.Both), show.Count(c.OnlyA), show.Count(c.OnlyB), show.Count(c.Reordered)})
	}
	table(t, []show.Column{{Name: "conversation", Left: true}, {Name: "both"}, {Name: "only in A"}, {Name: "only in B"}, {Name: "reordered"}}, rows)
	if s.ConversationsEvicted {
		fmt.Fprintf(t, "  too many conversations to count all: small ones may be missing\n")
	}
}
