// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"time"

	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/analysis/inspect"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/verdict"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Summary is the answer of "flowdedup inspect --json".
type Summary struct {
	version.Heading
	Verdict string `json:"verdict"`
	inspect.Findings
	Recommendation recommendation `json:"recommendation"`

	Window  string  `json:"window"`
	Sampled float64 `json:"sampled_share"` // the share of the last packets that were measured
	inspect.Doubts
	Filtered    uint64 `json:"filtered"`
	Dropped     uint64 `json:"dropped"`                // by the kernel
	CardDropped uint64 `json:"card_dropped,omitempty"` // before the kernel had them, at least
	EvictedLive uint64 `json:"evicted_live"`
	// Late counts packets that came after later ones of other inputs; nil without inputs
	// that arrive. The others are the peers of inputs on a network; nil without such.
	Late *uint64 `json:"late_packets,omitempty"`
	*pcapoverip.ReceiverStats
	Uncounted   uint64        `json:"uncounted"` // copies of too many points
	MemoryBytes int           `json:"memory_bytes"`
	DelayError  float64       `json:"delay_error"`
	Damaged     bool          `json:"damaged"`
	Took        time.Duration `json:"elapsed_ns"`
	Rate        float64       `json:"packets_per_second"`
}

// recommendation is the command to run and its settings.
type recommendation struct {
	Dedup         bool     `json:"dedup"`
	Identity      string   `json:"identity"`
	IdentityBytes int      `json:"identity_bytes"`
	Ignore        []string `json:"ignore"`
	Window        string   `json:"window"`
	Across        bool     `json:"across"`
	Keep          string   `json:"keep"`
	Strip         []string `json:"strip"`
	Prefer        string   `json:"prefer"`  // an expression for the copies to keep, empty for none
	For           string   `json:"for"`     // the reader, empty for none
	Command       string   `json:"command"` // empty if nothing is to be removed
	Removes       uint64   `json:"removes"`
	Wrong         uint64   `json:"wrong"`  // packets of Removes that are no copies
	Looped        uint64   `json:"looped"` // packets of Wrong that are in loops
	Left          uint64   `json:"left"`   // copies that come too late
	Reasons       []string `json:"reasons"`
	// See inspect.Recommendation.
	resummed, doubtful uint64
}

func newSummary(cfg *config, r *inspect.Report, took time.Duration) Summary {
	s := Summary{
		Heading: version.HeadingOf("inspect"), Verdict: verdict.Of(r), Findings: r.Findings, Doubts: r.Doubts,
		Sampled: 1 / float64(r.Sampled), Window: window.Window{Duration: r.Window}.String(),
		EvictedLive: r.Forgotten, Uncounted: r.Uncounted, MemoryBytes: r.MemoryBytes, DelayError: traits.RelativeError,
		Took: took, Rate: float64(r.Packets) / took.Seconds(),
	}
	c := &r.Recommendation
	s.Recommendation = recommendation{
		Dedup: c.Dedup, Identity: c.Identity.String(), IdentityBytes: c.IdentityBytes, Ignore: c.Ignore,
		Window: window.Window{Duration: c.Window}.String(), Across: c.Across, Keep: c.Keep, Strip: c.Strip, Prefer: c.Prefer,
		Removes: c.Removes, Wrong: c.Wrong, Looped: c.Looped, Left: c.Left, resummed: c.Resummed, doubtful: c.Doubtful, Reasons: c.Reasons,
	}
	if c.Dedup {
		cfg.Profile.adapt(&s.Recommendation)
		s.Recommendation.Command = command(cfg, &s.Recommendation)
	}
	return s
}
