// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"time"

	"github.com/flowdedup/flowdedup/capture/inspect"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/verdict"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Summary is the answer of "flowdedup inspect --json".
type Summary struct {
	version.Heading
	Verdict string `json:"verdict"`
	// Conclusion is the verdict in a word.
	Conclusion inspect.Conclusion `json:"conclusion"`
	Packets    uint64             `json:"packets_in"`
	Copies     uint64             `json:"duplicates"`
	Share      float64            `json:"duplicate_share"`
	// Equal counts copies and other packets that equal another one.
	Equal    uint64            `json:"equal"`
	Kinds    map[string]uint64 `json:"kinds"`
	TTLSteps map[int]uint64    `json:"ttl_steps"`
	Matrix   []traits.Cell     `json:"matrix"`
	Delays   []traits.Bin      `json:"delays"` // of the whole matrix
	Points   map[string]uint64 `json:"points"`
	// Paths are the paths of redundant networks; empty without.
	Paths []inspect.PathCount `json:"paths"`
	// Checksums count copies that differ in something by point, and by their checksums.
	Checksums map[string]inspect.Checksums `json:"checksums"`
	// NotCopies counts equal packets that are no copies, by protocol.
	NotCopies map[string]uint64          `json:"not_copies"`
	Examples  map[string]inspect.Example `json:"examples"`

	// Loops are what a network repeats, and Looped the packets in NotCopies that are in loops.
	Loops  []inspect.Loop `json:"loops"`
	Looped uint64         `json:"looped"`

	SplitConversations   uint64           `json:"split_conversations"`
	SampledConversations uint64           `json:"sampled_conversations"`
	OneSided             inspect.OneSided `json:"one_sided"`

	// Tried has the results of leaving out more fields.
	Tried          []inspect.Tried `json:"tried"`
	Recommendation recommendation  `json:"recommendation"`

	Window      string            `json:"window"`
	Sampled     float64           `json:"sampled_share"` // the share of the last packets that were measured
	NonIP       uint64            `json:"non_ip"`
	Unopened    map[string]uint64 `json:"unopened,omitempty"` // frames and tunnels that were not opened, by their content
	Truncated   uint64            `json:"truncated"`
	NoTimestamp uint64            `json:"no_timestamp"`
	// Undecidable and ChecksumOnly are as in inspect.Report.
	Undecidable  uint64 `json:"undecidable"`
	ChecksumOnly uint64 `json:"checksum_only"`
	Filtered     uint64 `json:"filtered"`
	Dropped      uint64 `json:"dropped"`                // by the kernel
	CardDropped  uint64 `json:"card_dropped,omitempty"` // before the kernel had them, at least
	EvictedLive  uint64 `json:"evicted_live"`
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
		Heading: version.HeadingOf("inspect"),
		Verdict: verdict.Of(r), Conclusion: r.Conclusion, Loops: r.Loops, Looped: r.Looped, Packets: r.Packets, Copies: r.Copies, Equal: r.Equal, Kinds: r.Kinds, TTLSteps: r.Hops,
		Matrix: r.Matrix, Delays: r.Delays, Points: r.Points, Paths: r.Paths, Checksums: r.Checksums, NotCopies: map[string]uint64{}, Examples: map[string]inspect.Example{},
		SplitConversations: r.SplitConversations, SampledConversations: r.SampledConversations, OneSided: r.Sides, Tried: r.Tried,
		Sampled: 1 / float64(r.Sampled), Window: window.Window{Duration: r.Window}.String(), NonIP: r.NonIP, Unopened: r.Unopened, Truncated: r.Truncated, NoTimestamp: r.NoTime,
		Undecidable: r.Undecidable, ChecksumOnly: r.ChecksumOnly,
		EvictedLive: r.Forgotten, Uncounted: r.Uncounted, MemoryBytes: r.MemoryBytes, DelayError: traits.RelativeError,
		Took: took, Rate: float64(r.Packets) / took.Seconds(),
	}
	if r.Packets > 0 {
		s.Share = float64(r.Copies) / float64(r.Packets)
	}
	for name, n := range r.NotCopies {
		s.NotCopies[name], s.Examples[name] = n.Count, n.Example
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
