// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// newConversations makes the counter of a run. Headers that are removed from packets split no
// conversation.
func newConversations(cfg *Config, saved *SavedStats) *traits.SplitCounter {
	fields := traits.PointVLAN | traits.PointVNI
	if cfg.strips("vlan") {
		fields &^= traits.PointVLAN
	}
	if cfg.strips("tunnel") {
		fields &^= traits.PointVNI
	}
	read := dedup.Sightings(cfg.Identity, cfg.Secret, fields)
	read.Apart = cli.PointsOf(cfg.Within)
	read.Inner = read.Inner || cfg.strips("tunnel")
	return traits.NewSplitCounter(read, saved.Conversations, saved.Packets)
}

func (c *Config) strips(header string) bool { return slices.Contains(c.Choice.Strip, header) }

// conversations presents the counts.
func (c *Config) conversations(counts traits.SplitCounts) show.Conversations {
	n := show.Conversations{SplitCounts: counts, Inner: c.Identity.Kind == identity.Inner}
	// Packets that wait for a hub wait for nothing else.
	if flags := c.Choice.oneHome(); n.Split > 0 && flags != "" && c.Hub == nil {
		n.Advice = append(n.Advice, flags)
	}
	if n.Tagged == 0 {
		return n
	}
	headers := c.Choice.Strip
	if !c.strips("vlan") {
		headers = append(slices.Clip(headers), "vlan")
	}
	if n.Inner && !c.strips("tunnel") {
		headers = append(slices.Clip(headers), "tunnel")
	}
	if len(headers) > len(c.Choice.Strip) {
		n.Advice = append(n.Advice, "--strip "+strings.Join(headers, ","))
	}
	return n
}

// oneHome returns the flags with which packets of a conversation are from its home wherever that
// has them; "" if no flag is left.
func (c *Choice) oneHome() string {
	switch {
	case c.Flow && c.Intact:
		return "--prefer first"
	case c.Flow:
		return ""
	case c.Intact:
		return "--keep flow --prefer first"
	}
	return "--keep flow"
}
