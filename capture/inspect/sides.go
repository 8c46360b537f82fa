// SPDX-License-Identifier: Apache-2.0

package inspect

import "github.com/flowdedup/flowdedup/capture/internal/hash"

// Sides count, of the flows that an analyzer sees, those of which it sees one direction
// alone.
type Sides struct {
	Flows    uint64 `json:"flows"`
	OneSided uint64 `json:"one_sided"`
}

// OneSided says how an analyzer sees the conversations, before and after copies are
// removed: one that keys its flows by VLAN and tunnel, and one that does not.
type OneSided struct {
	Before      Sides `json:"before"`
	After       Sides `json:"after"`
	BeforeByTag Sides `json:"before_by_tag"`
	AfterByTag  Sides `json:"after_by_tag"`
}

const (
	maxFlows  = 1 << 13
	flowSlots = 2 * maxFlows
)

// sides is a sample of the flows of both analyzers.
type sides struct{ whole, tagged flowSample }

// add counts a packet of a conversation, seen with these tags.
func (s *sides) add(conversation, tags uint64, backward, dropped bool) {
	bit := uint8(1)
	if backward {
		bit = 2
	}
	if !dropped {
		bit |= bit << 2
	}
	s.whole.add(conversation, bit)
	s.tagged.add(max(hash.Mix(conversation, tags), 1), bit)
}

func (s *sides) report() (o OneSided) {
	o.Before, o.After = s.whole.count()
	o.BeforeByTag, o.AfterByTag = s.tagged.count()
	return o
}

// flowSample has flows by hash: first all of them, and each time that it is full every
// second of them.
type flowSample struct {
	ids   []uint64 // 0 for none
	seen  []uint8  // directions: two bits for all packets, then two for kept ones
	n     int
	level uint // how many of the highest bits of an id must be 0
}

func (f *flowSample) add(id uint64, seen uint8) {
	for id>>(64-f.level) == 0 {
		if f.ids == nil {
			f.ids, f.seen = make([]uint64, flowSlots), make([]uint8, flowSlots)
		}
		at := f.find(id)
		if f.ids[at] == 0 {
			if f.n == maxFlows {
				f.halve()
				continue
			}
			f.n++
			f.ids[at] = id
		}
		f.seen[at] |= seen
		return
	}
}

func (f *flowSample) find(id uint64) uint64 {
	at := id % flowSlots
	for f.ids[at] != 0 && f.ids[at] != id {
		at = (at + 1) % flowSlots
	}
	return at
}

// halve drops every second flow.
func (f *flowSample) halve() {
	ids, seen := f.ids, f.seen
	f.ids, f.seen, f.n = make([]uint64, flowSlots), make([]uint8, flowSlots), 0
	f.level++
	for i, id := range ids {
		if id != 0 && id>>(64-f.level) == 0 {
			at := f.find(id)
			f.ids[at], f.seen[at] = id, seen[i]
			f.n++
		}
	}
}

// count counts all flows, and those of kept packets.
func (f *flowSample) count() (all, kept Sides) {
	for i, id := range f.ids {
		if id == 0 {
			continue
		}
		all.add(f.seen[i] & 3)
		kept.add(f.seen[i] >> 2)
	}
	return all, kept
}

func (s *Sides) add(directions uint8) {
	if directions != 0 {
		s.Flows++
		s.OneSided += count(directions != 3)
	}
}
