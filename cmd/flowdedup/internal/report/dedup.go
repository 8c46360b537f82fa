package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// DedupJSON writes the summary as one object on one line.
func DedupJSON(w io.Writer, s *dedup.Summary) error {
	return json.NewEncoder(w).Encode(s)
}

// DedupText writes the summary for people. written tells whether the
// survivors went somewhere.
func DedupText(w io.Writer, s *dedup.Summary, written bool) error {
	return dedupText(w, s, written, fmt.Sprintf("speed       %s, %.2f million packets/s", elapsed(s), s.PacketsPerSecond/1e6))
}

func elapsed(s *dedup.Summary) time.Duration {
	return time.Duration(s.Seconds * float64(time.Second)).Round(time.Millisecond)
}

// dedupText writes the summary, with a last line of how fast packets came.
func dedupText(w io.Writer, s *dedup.Summary, written bool, rate string) error {
	var t strings.Builder
	verb := "found"
	if written {
		verb = "removed"
	}
	fmt.Fprintf(&t, "%s packets in, %s duplicates %s (%.2f %%), %s packets %s\n",
		count(s.PacketsIn), count(s.Duplicates), verb, share(s.Duplicates, s.PacketsIn), count(s.PacketsOut),
		map[bool]string{true: "written", false: "left"}[written])
	if s.Duplicates > 0 {
		fmt.Fprintf(&t, "  duplicates  %s\n", protocols(s.DuplicatesByProtocol))
	}
	t.WriteString(inputs(s.Inputs))
	if s.Filtered > 0 {
		fmt.Fprintf(&t, "  filtered    %s packets, counted nowhere else\n", count(s.Filtered))
	}
	fmt.Fprintf(&t, "  compared    by %s identity %s\n", s.Identity, within(s.Window))
	fmt.Fprintf(&t, "  method      %s in %s, %s\n", s.Method, humanize.IBytes(uint64(s.MemoryBytes)), risk(s.PredictedFPR))
	if notes := oddities(s); notes != "" {
		fmt.Fprintf(&t, "  noticed     %s\n", notes)
	}
	if s.Files != nil {
		fmt.Fprintf(&t, "  files       %s\n", count(*s.Files))
	}
	if s.FirstTimestamp != nil {
		fmt.Fprintf(&t, "  time        %s to %s\n", *s.FirstTimestamp, *s.LastTimestamp)
	}
	fmt.Fprintf(&t, "  %s\n", rate)
	_, err := io.WriteString(w, t.String())
	return err
}

// maxInputs is how many inputs get a line each.
const maxInputs = 16

// inputs tells what came from each input.
func inputs(all []dedup.InputCount) string {
	if len(all) > maxInputs {
		return fmt.Sprintf("  inputs      %d, each of them in --json\n", len(all))
	}
	var t strings.Builder
	title := "inputs"
	for i := range all {
		n := &all[i]
		fmt.Fprintf(&t, "  %-11s %s packets, %s duplicates (%.2f %%): %s\n",
			title, count(n.Packets), count(n.Duplicates), share(n.Duplicates, n.Packets), printable(n.Input))
		title = ""
	}
	return t.String()
}

// printable keeps control characters in a name from a terminal.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, name)
}

// within puts a window into words.
func within(window string) string {
	if window == "none" {
		return "over the whole input"
	}
	if n, ok := strings.CutPrefix(window, "n:"); ok {
		return "within " + n + " packets"
	}
	return "within " + window
}

// risk puts the rate of false positives into words.
func risk(fpr float64) string {
	if fpr == 0 {
		return "no packet wrongly taken for a copy"
	}
	return fmt.Sprintf("at most %.1e packets wrongly taken for a copy for each packet read", fpr)
}

func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// protocols lists counts, the largest first.
func protocols(m map[string]uint64) string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if m[a] != m[b] {
			if m[a] > m[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %s", name, count(m[name]))
	}
	return strings.Join(names, ", ")
}

// oddities names what the user may not expect of the input.
func oddities(s *dedup.Summary) string {
	var notes []string
	for _, n := range []struct {
		count uint64
		what  string
	}{
		{s.NonIP, "without IP"},
		{s.Snapped, "captured in part"},
		{s.OutOfOrder, "out of time order"},
		{s.NoTimestamp, "without a timestamp"},
		{s.EvictedLive, "forgotten too early"},
		{s.LateForgotten, "too late for what was remembered"},
	} {
		if n.count > 0 {
			notes = append(notes, fmt.Sprintf("%s %s", count(n.count), n.what))
		}
	}
	if s.Damaged {
		notes = append(notes, "damaged input")
	}
	return strings.Join(notes, ", ")
}
