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
	rate := fmt.Sprintf("traffic     %s packets/s over %s", show.Count(uint64(math.Round(s.PacketsPerSecond))), elapsed(&s.Summary))
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
		fmt.Fprintf(&t, "  forwarded   %s packets to %s%s\n", show.Count(f.Sent), show.Printable(f.Interface),
			also(show.Note{Count: f.Lost, What: "lost while it was away"}, show.Note{Count: f.Refused, What: "refused"}, show.Note{Count: f.Cut, What: "cut"}, show.Note{Count: f.TooLong, What: "too long"}))
	}
	if s.Late > 0 {
		fmt.Fprintf(&t, "  late        %s packets came after their window had closed\n", show.Count(s.Late))
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// also lists what happened at all behind a comma.
func also(notes ...show.Note) string {
	if text := show.Notes(notes...); text != "" {
		return ", " + text
	}
	return ""
}

// ofInterface tells what happened at an interface.
func ofInterface(n *live.Interface) string {
	return fmt.Sprintf("%s received, %s dropped by the kernel", show.Count(n.Received), show.Count(n.Dropped)) +
		also(show.Note{Count: n.Outages, What: "times down or away"}, show.Note{Count: n.Cut, What: "cut"},
			show.Note{Count: n.Merged, What: "merged by receive offload"}, show.Note{Count: n.NoChecksum, What: "with unfilled checksums"})
}

// diffsText tells how copies differed, as shares of the sample.
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
