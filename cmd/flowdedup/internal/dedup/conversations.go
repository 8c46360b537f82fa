// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/capture/split"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// newConversations makes the counter of a run. What is taken off packets splits no
// conversation.
func newConversations(cfg *Config, saved *SavedStats) *split.Counter {
	fields := flow.PointVLAN | flow.PointVNI
	if cfg.strips("vlan") {
		fields &^= flow.PointVLAN
	}
	if cfg.strips("tunnel") {
		fields &^= flow.PointVNI
	}
	read := dedup.Within(fields, cfg.Identity.Kind, cfg.Secret)
	read.Inner = read.Inner || cfg.strips("tunnel")
	return split.NewCounter(read, saved.Conversations, saved.Packets)
}

func (c *Config) strips(header string) bool { return slices.Contains(c.Choice.Strip, header) }

// Kept counts conversations among the packets that are kept. drop marks the others, as
// they are finally chosen. Batches must come in the order of their stream. Kept may be
// called at the same time as other methods.
func (d *Detector) Kept(b *capture.Batch, drop []uint64) { d.conversations.Add(b, drop) }

// Conversations returns what Kept counted so far.
func (d *Detector) Conversations() show.Conversations {
	n := show.Conversations{Counts: d.conversations.Counts(), Inner: d.cfg.Identity.Kind == flow.Inner}
	// Packets that wait for a hub wait for nothing else.
	if flags := d.cfg.Choice.oneHome(); n.Split > 0 && flags != "" && d.cfg.Hub == nil {
		n.Advice = append(n.Advice, flags)
	}
	if n.Tagged == 0 {
		return n
	}
	headers := d.cfg.Choice.Strip
	if !d.cfg.strips("vlan") {
		headers = append(slices.Clip(headers), "vlan")
	}
	if n.Inner && !d.cfg.strips("tunnel") {
		headers = append(slices.Clip(headers), "tunnel")
	}
	if len(headers) > len(d.cfg.Choice.Strip) {
		n.Advice = append(n.Advice, "--strip "+strings.Join(headers, ","))
	}
	return n
}

// oneHome returns the flags with which all packets of a conversation are from its home, as far
// as it has them; "" if no flag is left.
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
