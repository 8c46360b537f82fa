package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/flowdedup/flowdedup/capture/diffs"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// LiveJSON writes the summary as one object on one line.
func LiveJSON(w io.Writer, s *live.Summary) error {
	return json.NewEncoder(w).Encode(s)
}

// LiveText writes the summary for people. written tells whether the survivors went
// somewhere.
func LiveText(w io.Writer, s *live.Summary, written bool) error {
	// How fast it could go is not known: it goes as fast as packets come.
	rate := fmt.Sprintf("traffic     %s packets/s over %s", count(uint64(math.Round(s.PacketsPerSecond))), elapsed(&s.Summary))
	if err := dedupText(w, &s.Summary, written, rate); err != nil {
		return err
	}
	var t strings.Builder
	if s.Diffs.Sampled > 0 {
		fmt.Fprintf(&t, "  copies      %s\n", diffsText(&s.Diffs))
	}
	for i := range s.Interfaces {
		n := &s.Interfaces[i]
		fmt.Fprintf(&t, "  %-11s %s\n", show.Printable(n.Name), ofInterface(n))
	}
	if f := s.Forward; f != nil {
		fmt.Fprintf(&t, "  forwarded   %s packets to %s%s\n", count(f.Sent), show.Printable(f.Interface),
			also(", ", part{f.Lost, "lost while it was away"}, part{f.Refused, "refused"}, part{f.Cut, "cut"}, part{f.TooLong, "too long"}))
	}
	if s.Late > 0 {
		fmt.Fprintf(&t, "  late        %s packets came after their window had closed\n", count(s.Late))
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// part is a number of things that happened.
type part struct {
	count uint64
	what  string
}

// also lists what happened at all, each after the separator.
func also(separator string, parts ...part) string {
	var t strings.Builder
	for _, p := range parts {
		if p.count > 0 {
			fmt.Fprintf(&t, "%s%s %s", separator, count(p.count), p.what)
		}
	}
	return t.String()
}

func ofInterface(n *live.Interface) string {
	return fmt.Sprintf("%s received, %s dropped by the kernel", count(n.Received), count(n.Dropped)) +
		also(", ", part{n.Outages, "times down or away"}, part{n.Cut, "cut"},
			part{n.Merged, "merged by receive offload"}, part{n.NoChecksum, "with unfilled checksums"})
}

// diffsText tells how copies differed, as shares of the sample.
func diffsText(r *diffs.Counts) string {
	var words []string
	for _, one := range []part{
		{r.Exact, "exact"}, {r.VLAN, "of another VLAN"}, {r.TTL, "of another TTL"}, {r.MAC, "of other MAC addresses"},
		{r.Interface, "of another interface"}, {r.Other, "otherwise different"},
	} {
		if one.count > 0 {
			words = append(words, fmt.Sprintf("%.1f %% %s", share(one.count, r.Sampled), one.what))
		}
	}
	return strings.Join(words, ", ")
}
