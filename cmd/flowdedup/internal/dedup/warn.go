// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/method"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine"
)

// WarnForgotten reports packets that the filter forgot too early, and how much memory
// would have been enough. aboutTime is advice about time that goes back; it comes first.
func WarnForgotten(e *cli.Env, s *Summary, aboutTime ...string) {
	switch {
	case s.EvictedLive > 0 && s.SuggestedMemory == 0 && s.Window != "none": // so few that hardly any had a copy
	case s.EvictedLive > 0 && s.SuggestedMemory == 0:
		e.Warn(fmt.Errorf("%d %s forgotten for newer ones: duplicates may remain", s.EvictedLive, show.Word(s.EvictedLive, "packet was", "packets were")))
	case s.EvictedLive > 0:
		e.Warn(fmt.Errorf("%d %s window ended: duplicates may remain; use --memory %s or more",
			s.EvictedLive, show.Word(s.EvictedLive, "packet was forgotten before its", "packets were forgotten before their"), show.FlagBytes(s.SuggestedMemory)))
	}
	if s.LateForgotten > 0 {
		if slices.Contains([]string{method.Timers, method.Coarse, method.Fine}, s.Method) { // whatever its memory
			aboutTime = append(aboutTime, "use --method timed")
		}
		e.Warn(lateWarning(&s.Late, aboutTime))
	}
	if s.SharedPoints > 0 {
		e.Warn(fmt.Errorf("more than %d capture points: %d %s came from points that count as one, and duplicates among them remain",
			traits.MaxCapturePoints, s.SharedPoints, show.Word(s.SharedPoints, "packet", "packets")))
	}
	if s.OnePoint && s.PacketsIn > 0 {
		e.Warn(errors.New("all packets come from one interface: with --across none is a copy of another"))
	}
	if s.SkippedBlocks > 0 {
		e.Warn(fmt.Errorf("%d pcapng %s could not be carried over into the output", s.SkippedBlocks, show.Word(s.SkippedBlocks, "block", "blocks")))
	}
}

// muchSplit is the share of sampled conversations that may be kept in parts without a
// warning. Few are on any network: hosts move, and ports are used again.
const muchSplit = 0.01

// WarnSplit gives advice if packets were written for an analyzer that would see one side of
// each conversation. Only tags have this effect: written packets do not show their interface.
// It is silent if all packets of a conversation were taken from one point already (flow).
func WarnSplit(e *cli.Env, n *show.Conversations, written, flow bool) {
	if !written || flow || float64(n.Tagged) <= muchSplit*float64(n.Sampled) {
		return
	}
	e.Warn(fmt.Errorf("%d of %d sampled conversations were kept from more than one %s, and an analyzer that tracks flows by %[3]s sees one side of each: use %s (the manual, keep.md)",
		n.Tagged, n.Sampled, n.Tags(), strings.Join(n.Advice, " or ")))
}

// lateWarning says how far time went back, and gives advice.
func lateWarning(l *engine.LateStats, advice []string) error {
	if l.SuggestedMemory > 0 {
		advice = append(advice, "use --memory "+show.FlagBytes(l.SuggestedMemory)+" or --method exact")
	}
	precision := time.Millisecond
	if l.By < precision {
		precision = time.Microsecond
	}
	text := fmt.Sprintf("time goes back by about %s at packet %d, and %d %s older than the filter remembers, so duplicates may remain",
		l.By.Round(precision), l.First, l.Elements, show.Word(l.Elements, "packet is", "packets are"))
	if len(advice) > 0 {
		text += ": " + strings.Join(advice, ", or ")
	}
	return errors.New(text)
}

// warnUnsorted reports packets that could not be sorted, with advice.
func warnUnsorted(e *cli.Env, s *Summary, span time.Duration) {
	n := s.Unsorted
	if n == nil || n.Late == 0 {
		return
	}
	advice := fmt.Sprintf("use --sort %v or more", time.Duration(n.By)+span)
	switch {
	case n.By > int64(time.Hour):
		advice = "give captures that were concatenated as separate inputs, which are merged by time"
	case n.Full:
		advice = "use a larger --sort-memory"
	}
	e.Warn(fmt.Errorf("%d %s came too late to be sorted, the first of them packet %d, by up to %v, and %s out of order: %s",
		n.Late, show.Word(n.Late, "packet", "packets"), n.First, time.Duration(n.By), show.Word(n.Late, "is", "are"), advice))
}

// warnUndecidable gives advice about undecidable packets.
func warnUndecidable(e *cli.Env, s *Summary) {
	if s.Undecidable > 0 {
		e.Warn(fmt.Errorf("%d %s: "+
			"capture more of each packet, or use --across where copies come from another interface or input", s.Undecidable,
			show.Word(s.Undecidable, "packet was truncated too short to distinguish copies from other packets of its flow, and stays",
				"packets were truncated too short to distinguish copies from other packets of their flow, and stay")))
	}
}

// CutWarning returns advice if packets were cut in different places, as behind a VLAN tag or by
// different snap lengths: copies may remain as their lengths differ. Else it returns nil.
func CutWarning(s *Summary) error {
	c := s.Captured
	if s.Duplicates == 0 || c.Least == c.Most {
		return nil
	}
	return fmt.Errorf("truncated packets have %d to %d bytes from their IP header on, and copies that were cut in different places would remain: "+
		"use --identity-bytes if inspect recommends it", c.Least, c.Most)
}

// WarnUnmatched reports conditions that no packet matched.
func WarnUnmatched(e *cli.Env, s *Summary) {
	if s.PacketsIn == 0 {
		return
	}
	for _, condition := range s.Unmatched {
		e.Warn(fmt.Errorf("no packet matched %s", condition))
	}
}

// WarnUnchecked says that copies of other sites may remain.
func WarnUnchecked(e *cli.Env, s *Summary) {
	if s.Unchecked != nil && *s.Unchecked > 0 {
		e.Warn(fmt.Errorf("%d %s stayed unchecked, as the hub did not answer in time: copies of other sites may remain", *s.Unchecked, show.Word(*s.Unchecked, "packet", "packets")))
	}
}

// manyTunnels is the share of packets in tunnels that is worth a word. Of packets that are seen
// inside and outside of a tunnel, half are in it, and fewer if some are seen more often outside.
const manyTunnels = 0.25

// Notices suggests flags that fit the packets and the CPU better.
func Notices(e *cli.Env, s *Summary) {
	noticeTunnels(e, s)
	noticeDigest(e, s, asm.HighwayIsFaster())
}

// noticeTunnels suggests --identity inner if many packets travel in tunnels.
func noticeTunnels(e *cli.Env, s *Summary) {
	if s.InTunnels < manyTunnels {
		return
	}
	names := make([]string, len(s.Tunnels))
	for i, t := range s.Tunnels {
		names[i] = t.String()
	}
	e.Notice(fmt.Sprintf("%.0f %% of packets are %s; for copies inside of tunnels try --identity inner",
		100*s.InTunnels, strings.Join(names, ", ")))
}

// manyPackets take long enough for advice about time.
const manyPackets = 1_000_000

// noticeDigest suggests --digest highway where this takes less time. Sites of a hub have no choice.
func noticeDigest(e *cli.Env, s *Summary, highwayIsFaster bool) {
	if highwayIsFaster && s.Digest == "aes" && s.Unchecked == nil && s.PacketsIn >= manyPackets {
		e.Notice("this CPU has no AES instructions; --digest highway takes less time")
	}
}
