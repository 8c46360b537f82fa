// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"github.com/flowdedup/flowdedup/capture/traits"
)

// Sides counts the flows that an analyzer sees, and the one-sided flows, of which it sees one
// direction.
type Sides struct {
	Flows    uint64 `json:"flows"`
	OneSided uint64 `json:"one_sided"`
}

// Share returns the share of one-sided flows, 0 without flows.
func (s Sides) Share() float64 { return float64(s.OneSided) / float64(max(s.Flows, 1)) }

// OneSided counts flows before and after copies are removed. The fields ByTag are for analyzers that
// take VLAN and tunnel for a part of a flow.
type OneSided struct {
	Before      Sides `json:"before"`
	After       Sides `json:"after"`
	BeforeByTag Sides `json:"before_by_tag"`
	AfterByTag  Sides `json:"after_by_tag"`
	// Strip are the headers, in the words of the flag, without which the second kind of analyzers sees
	// the flows of the first kind; empty if it sees as many of both directions.
	Strip []string `json:"strip"`
}

// maxFlows bounds the sample of each analyzer.
const maxFlows = 1 << 13

// sides is a sample of the flows of both analyzers.
type sides struct{ whole, tagged traits.Sample[directions] }

// directions has two bits for the directions of all packets of a flow, and above them two bits for
// the directions of its kept packets.
type directions uint8

func newSides() sides {
	return sides{traits.NewSample[directions](maxFlows), traits.NewSample[directions](maxFlows)}
}

// add counts a packet of a conversation, seen with these tags.
func (s *sides) add(conversation, tags uint64, backward, dropped bool) {
	bit := directions(1)
	if backward {
		bit = 2
	}
	if !dropped {
		bit |= bit << 2
	}
	if seen := s.whole.Find(conversation); seen != nil {
		*seen |= bit
	}
	if seen := s.tagged.Find(max(traits.Mix(conversation, tags), 1)); seen != nil {
		*seen |= bit
	}
}

func (s *sides) report() (o OneSided) {
	o.Before, o.After = countSides(&s.whole)
	o.BeforeByTag, o.AfterByTag = countSides(&s.tagged)
	return o
}

// countSides counts all flows of a sample, and the flows of kept packets.
func countSides(flows *traits.Sample[directions]) (all, kept Sides) {
	flows.Each(func(seen directions) {
		all.add(seen & 3)
		kept.add(seen >> 2)
	})
	return all, kept
}

func (s *Sides) add(seen directions) {
	if seen != 0 {
		s.Flows++
		s.OneSided += count(seen != 3)
	}
}
