// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// writeJSON writes the summary as one object on one line.
func writeJSON(w io.Writer, s *summary) error { return json.NewEncoder(w).Encode(s) }

// writeText writes the summary as text.
func writeText(w io.Writer, s *summary) error {
	var t strings.Builder
	fmt.Fprintf(&t, "%s\n\n", show.Sentence(s.verdict()))
	fmt.Fprintf(&t, "  packets     %s\n  kept        %s\n  removed     %s\n", show.Count(s.Packets), show.Count(s.Kept), show.Count(s.Removed))
	for _, one := range []struct {
		count uint64
		text  string
	}{
		{s.Filtered, "  filtered    %s, counted nowhere else\n"},
		{s.Lost, "  lost        %s removed, and not copies of what was kept\n"},
		{s.Foreign, "  foreign     %s in the output from the first on that the input does not have there\n"},
		{s.Unlisted, "  unlisted    %s removed, and not among the removed packets\n"},
		{s.Misplaced, "  misplaced   %s among the removed packets alone\n"},
		{s.Unknown, "  unknown     %s removed that this memory could not tell about\n"},
	} {
		if one.count > 0 {
			fmt.Fprintf(&t, one.text, show.Count(one.count))
		}
	}
	fmt.Fprintf(&t, "  compared    identity %s, window %s\n", s.Identity, s.Window)
	fmt.Fprintf(&t, "  speed       %s, %.2f million packets/s\n", s.Took.Round(time.Millisecond), float64(s.Packets)/s.Took.Seconds()/1e6)
	_, err := io.WriteString(w, t.String())
	return err
}
