// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"io"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// writeText writes the summary as text.
func writeText(w io.Writer, columns int, s *summary) error {
	t := show.NewText(columns)
	fmt.Fprintf(t, "%s\n\n", show.Sentence(s.verdict()))
	fmt.Fprintf(t, "  packets     %s\n  kept        %s\n  removed     %s\n", show.Count(s.Packets), show.Count(s.Kept), show.Count(s.Removed))
	for _, d := range s.deviations() {
		if d.count > 0 {
			fmt.Fprintf(t, "  %-11s %s%s\n", d.name, show.Count(d.count), d.text)
		}
	}
	fmt.Fprintf(t, "  compared    identity %s, window %s\n", s.Identity, s.Window)
	fmt.Fprintf(t, "  speed       %s, %.2f million packets/s\n", s.Took.Round(time.Millisecond), float64(s.Packets)/s.Took.Seconds()/1e6)
	return t.Flush(w)
}

// deviation is a count that is 0 where all is well.
type deviation struct {
	name  string
	count uint64
	text  string // that follows the count
	todo  string // what to do, nothing if that is no fault
}

func (s *summary) deviations() []deviation {
	return []deviation{
		{"filtered", s.Filtered, ", counted nowhere else", ""},
		{"lost", s.Lost, " removed, and no copies of kept packets", "keep the input, and look whether another program wrote to the output"},
		{"foreign", s.Foreign, " in the output, from the first that the input does not have there", "compare with the input of that run, in its order"},
		{"unlisted", s.Unlisted, " removed, and not among the removed packets", "give verify the file of --duplicates of that run"},
		{"misplaced", s.Misplaced, " only among the removed packets", "give verify the file of --duplicates of that run"},
		{"unknown", s.Unknown, ", for want of memory, or of the flags of the run", "give verify a larger --memory, and the flags of the run"},
	}
}
