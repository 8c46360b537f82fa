// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/analysis/verify"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
	"github.com/flowdedup/flowdedup/engine/window"
)

func newSummary(cfg *config, r *verify.Report) summary {
	s := summary{
		Heading: version.HeadingOf("verify"),
		Same:    r.Differences() == 0 && r.Unknown == 0, Report: *r, Identity: cfg.Identity.Kind.String(),
		Window: window.Window{Duration: cfg.Window, Packets: int64(cfg.Packets), None: cfg.Window == 0 && cfg.Packets == 0, Landmark: cfg.Landmark}.String(),
	}
	if d := r.First; d != nil {
		s.First = &first{Kind: d.Kind, File: fileOf(cfg, d), Packet: d.Packet}
		if d.Time != capture.NoTime {
			s.First.Time = show.Timestamp(d.Time, time.UTC)
		}
	}
	return s
}

// fileOf returns the file in which packets of a difference are counted.
func fileOf(cfg *config, d *verify.Difference) string {
	switch {
	case d.Kind == verify.Foreign:
		return cfg.in(cfg.Output)[d.File]
	case d.Kind == verify.Misplaced:
		return cfg.in(cfg.Duplicates)[d.File]
	case len(cfg.Inputs) == 1:
		return cfg.Inputs[0]
	}
	return "the inputs"
}

// what describes each kind of difference.
var what = map[verify.Kind]string{
	verify.Foreign:   "is not in the input, not in this order, or was changed",
	verify.Lost:      "was removed, though no packet that was kept is equal to it within the window",
	verify.Unlisted:  "was removed, and is not among the removed packets",
	verify.Misplaced: "is among the removed packets, and was not removed or is not in the input",
}

// verdict says in a sentence whether the output is right.
func (s *summary) verdict() string {
	if s.First == nil {
		return s.verdictOn("")
	}
	return s.verdictOn(s.First.File)
}

// verdictOn names the file of the first difference as given.
func (s *summary) verdictOn(file string) string {
	switch {
	case s.Fits != nil:
		return fmt.Sprintf("not known: with these flags %s packets are not right, and with %s all are; give verify the flags of the run that made the output", show.Count(s.Unknown), *s.Fits)
	case s.First != nil:
		when := ""
		if s.First.Time != nil {
			when = ", " + *s.First.Time
		}
		return fmt.Sprintf("packet %d of %s%s, %s", s.First.Packet, show.Printable(file), when, what[s.First.Kind])
	case s.Unknown > 0:
		return fmt.Sprintf("%s could not be checked in this memory: use a larger --memory", show.Some(s.Unknown, "removed packet"))
	case s.Packets == 0:
		return "there are no packets"
	}
	if s.Packets == 1 {
		return "the only packet is there"
	}
	return fmt.Sprintf("all %s packets are there: %s in the output, and %s that are copies of these", show.Count(s.Packets), show.Count(s.Kept), show.Count(s.Removed))
}
