// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/capture/compare"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Summary is the answer of "flowdedup compare --json".
type Summary struct {
	version.Heading
	Verdict string `json:"verdict"`
	Same    bool   `json:"same"`
	compare.Counts
	Reordered uint64 `json:"reordered"`
	A         side   `json:"a"`
	B         side   `json:"b"`

	// The fields below are null if unknown.
	OffsetNS   *int64         `json:"offset_ns"`
	OffsetAt   *string        `json:"offset_at"`
	DriftPPM   *float64       `json:"drift_ppm"`
	DriftError *float64       `json:"drift_error_ppm"`
	DelayNS    *traits.Delays `json:"delay_ns"`
	Delays     []traits.Bin   `json:"delays"`
	Sampled    float64        `json:"sampled_share"` // the share of the packets whose delays were kept
	DelayError float64        `json:"delay_error"`

	Protocols     map[string]compare.Counts `json:"protocols"`
	Conversations []compare.Conversation    `json:"conversations"`
	// ConversationsEvicted is whether there were too many to count all.
	ConversationsEvicted bool `json:"conversations_evicted"`

	Window        string        `json:"window"`
	Identity      string        `json:"identity"`
	IdentityBytes int           `json:"identity_bytes"`
	Filtered      uint64        `json:"filtered"`
	Unpathed      uint64        `json:"unpathed"` // with config.LANs, on no path, or on the path of another input
	EvictedLive   uint64        `json:"evicted_live"`
	MemoryBytes   int           `json:"memory_bytes"`
	Damaged       bool          `json:"damaged"`
	Took          time.Duration `json:"elapsed_ns"`
	Rate          float64       `json:"packets_per_second"` // of both inputs
}

// side counts the packets of an input.
type side struct {
	Input string `json:"input"`
	LAN   string `json:"lan,omitempty"` // A or B, with config.LANs
	compare.Side
}

func newSummary(cfg *config, r *compare.Report, took time.Duration) Summary {
	s := Summary{
		Heading: version.HeadingOf("compare"),
		Same:    r.OnlyA+r.OnlyB == 0 && (r.Both > 0 || r.Sides[0].Packets+r.Sides[1].Packets == 0), Counts: compare.Counts{Both: r.Both, OnlyA: r.OnlyA + r.Sides[0].Outside, OnlyB: r.OnlyB + r.Sides[1].Outside}, Reordered: r.Reordered, Delays: r.Bins,
		Protocols: r.Protocols, Conversations: r.Conversations, ConversationsEvicted: r.Evicted,
		Window: window.Window{Duration: cfg.Window}.String(), Identity: cfg.Identity.Kind.String(), IdentityBytes: r.IdentityBytes,
		EvictedLive: r.Forgotten, DelayError: traits.RelativeError, MemoryBytes: r.MemoryBytes, Took: took,
		Rate: float64(r.Sides[0].Packets+r.Sides[1].Packets) / took.Seconds(),
	}
	for i, to := range []*side{&s.A, &s.B} {
		*to = side{Input: cfg.Inputs[i], LAN: cfg.lanOf(i), Side: r.Sides[i]}
	}
	if r.Found {
		offset := r.Offset.Nanoseconds()
		s.OffsetNS, s.OffsetAt, s.DelayNS = &offset, show.Timestamp(r.At, time.UTC), &r.Delays
		s.Sampled = 1 / float64(r.Sampled)
	}
	if r.HasDrift {
		drift, off := r.Drift*1e6, r.DriftError*1e6
		s.DriftPPM, s.DriftError = &drift, &off
	}
	s.Verdict = verdict(&s)
	return s
}

// verdict says in one sentence how the sides differ. Captures do not begin and end together, so
// it is about the time that both have.
func verdict(s *Summary) string {
	outside := ""
	if n := s.A.Outside + s.B.Outside; n > 0 {
		outside = fmt.Sprintf("; %s more %s from before or after the other capture", show.Count(n), show.Word(int(n), "is", "are"))
	}
	switch {
	case s.A.Packets+s.B.Packets == 0:
		return "both are empty"
	case s.A.Packets == 0:
		return "A has no packets"
	case s.B.Packets == 0:
		return "B has no packets"
	case s.Both == 0:
		return "no packet is in both, so the offset of the clocks is unknown"
	case s.Same:
		return fmt.Sprintf("the same %s in both", show.Some(s.Both, "packet is", "packets are")) + outside
	}
	return lacks("B", "A", s.OnlyA-s.A.Outside, s.A.Packets-s.A.Outside) + ", " + lacks("A", "B", s.OnlyB-s.B.Outside, s.B.Packets-s.B.Outside) + outside
}

// lacks says how many packets of the other side one side lacks.
func lacks(one, other string, n, of uint64) string {
	if n == 0 {
		return fmt.Sprintf("%s has all packets of %s", one, other)
	}
	return fmt.Sprintf("%s lacks %s of the %s of %s (%s)", one, show.Count(n), show.Some(of, "packet"), other, show.Percent(float64(n), float64(of), 3))
}
