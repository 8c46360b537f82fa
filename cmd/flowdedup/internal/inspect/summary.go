// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/analysis/inspect"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
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
	// Late counts packets that came after later packets of other inputs; nil without inputs on a
	// network, as are ReceiverStats, their peers.
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
	Check         string   `json:"check"`   // the command that checks what Command writes, empty for live traffic
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
		s.Recommendation.Command, s.Recommendation.Check = command(cfg, &s.Recommendation)
	}
	return s
}

// command returns the recommended command line, and another that checks its output.
func command(cfg *config, r *recommendation) (line, check string) {
	words := []string{"flowdedup", "dedup"}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag, value)
		}
	}
	if len(cfg.Inputs) == 0 {
		words[1] = "live"
		for _, name := range cfg.Ring.Interfaces {
			add("-i", name)
		}
		for _, target := range cfg.Mirror.Targets {
			add("-i", target.String())
		}
	}
	add("--identity", r.Identity)
	add("--window", r.Window)
	if r.IdentityBytes > 0 {
		add("--identity-bytes", strconv.Itoa(r.IdentityBytes))
	}
	add("--ignore", strings.Join(besides(r.Ignore, cfg.Profile.Ignore), ","))
	if r.Across {
		words = append(words, "--across")
	}
	add("--for", r.For)
	add("--strip", strings.Join(besides(r.Strip, cfg.Profile.Strip), ","))
	if r.Identity == identity.Inner.String() || slices.Contains(r.Strip, "tunnel") {
		add("--tunnel", cfg.Tunnels.String())
	}
	words = append(words, cfg.Flags...)
	out := output(cfg.Inputs)
	if len(cfg.Inputs) > 0 && !slices.Contains(cfg.Inputs, "-") && !slices.ContainsFunc(cfg.Inputs, pcapoverip.IsAddress) && !slices.Contains(words, "--merge-wait") {
		checking := show.AppendInputs(slices.Clone(words), cfg.Named)
		if checking[1] = "verify"; len(cfg.Named) > 1 {
			checking = append(checking, "--")
		}
		check = show.CommandLine(append(checking, out))
	}
	add("--prefer", r.Prefer)
	add("-w", out)
	return show.CommandLine(show.AppendInputs(words, cfg.Named)), check
}

// output returns a name for the output that no input has.
func output(inputs []string) string {
	name := "clean.pcapng"
	for i := 2; slices.ContainsFunc(inputs, func(in string) bool { return filepath.Base(in) == name }); i++ {
		name = "clean" + strconv.Itoa(i) + ".pcapng"
	}
	return name
}

// profile has the settings of --for for a reader of the kept packets, without --keep flow. The
// zero value is for no reader.
type profile struct {
	Name          string
	Strip, Ignore []string
}

// profileOf returns the settings of --for for a reader.
func profileOf(r *cli.Reader) (p profile) {
	if !r.IsSet() {
		return p
	}
	p.Name = r.Name
	if r.KeysVLAN {
		p.Strip = []string{"vlan"}
	}
	if r.Verifies {
		p.Ignore = []string{"l4-checksum"}
	}
	return p
}

// adapt changes a recommendation for the reader.
func (p *profile) adapt(r *recommendation) {
	if p.Name == "" {
		return
	}
	r.For, r.Keep = p.Name, "flow"
	if !slices.Contains(r.Ignore, "l4-checksum") && slices.Contains(p.Ignore, "l4-checksum") {
		r.Removes, r.Wrong = r.Removes+r.resummed, r.Wrong+r.resummed
		if !r.Across { // packets known only by a checksum stay
			r.Removes, r.doubtful = r.Removes-r.doubtful, 0
		}
	}
	r.Strip, r.Ignore = united(r.Strip, p.Strip), united(r.Ignore, p.Ignore)
}

// united returns the words of both lists, each once.
func united(one, other []string) []string {
	all := slices.Concat(one, other)
	slices.Sort(all)
	return slices.Compact(all)
}

// besides returns a list for the command line, empty if --for sets as much.
func besides(words, set []string) []string {
	for _, word := range words {
		if !slices.Contains(set, word) {
			return words
		}
	}
	return nil
}
