// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/flowdedup/flowdedup/capture/keys"
)

// Conversations are counted in sets of eight. Where a set is full, that with the fewest
// packets makes room, and the new one inherits the number as its error (Metwally, Agrawal,
// El Abbadi: Efficient computation of frequent and top-k elements in data streams, 2005).
const (
	talkSets = 1 << 12
	talkWays = 8
	noTalk   = talkSets * talkWays
)

// talks are the conversations with the most packets.
type talks struct {
	sets   []talkSet
	counts []talk
	// evicted is whether any conversation made room.
	evicted bool
	ordered uint64 // packets that came behind a later one of their direction
}

// talkSet holds the searched fields of a set in one cache line.
type talkSet struct {
	checks [talkWays]uint32 // parts of the hashes, 0 for none
	weight [talkWays]uint32 // packets, with those of conversations that made room
}

// talk holds the counters of a conversation, from when it got its place.
type talk struct {
	seen   [2]uint64 // packets of each side
	latest [2]uint64 // by direction: the number in A of the latest packet that B saw, plus 1
	only   [2]uint64 // packets that only one side has
	error  uint32    // packets that it may have had before, at most
	six    bool
	ends   [48]byte // a key of kind keys.Flow
	// reordered counts packets that came behind a later one of their direction.
	reordered uint64
}

func newTalks() *talks {
	return &talks{sets: make([]talkSet, talkSets), counts: make([]talk, noTalk)}
}

// checkOf returns the part of a conversation's hash that distinguishes it from others of its
// set.
func checkOf(hash uint64) uint32 { return uint32(hash) &^ 1 }

// count counts packets of a side, from packet from of b on, and writes the places of their
// conversations to places.
func (t *talks) count(places []uint32, side int, b *Batch, from int) {
	hashes := b.talks[from : from+len(places)]
	for i, hash := range hashes {
		if hash == 0 {
			places[i] = noTalk
			continue
		}
		number, check := uint32(hash>>52), checkOf(hash)
		at := number * talkWays
		set := &t.sets[number]
		for way := range set.checks {
			if set.checks[way] == check {
				at += uint32(way)
				set.weight[way] = max(set.weight[way]+1, set.weight[way])
				t.counts[at].seen[side]++
				places[i] = at
				check = 0
				break
			}
		}
		if check != 0 {
			places[i] = t.add(side, b, from+i)
		}
	}
}

// add makes room for the conversation of packet i of b, and counts the packet.
func (t *talks) add(side int, b *Batch, i int) uint32 {
	number := uint32(b.talks[i] >> 52)
	set := &t.sets[number]
	victim := 0
	for way := range set.weight {
		if set.weight[way] < set.weight[victim] {
			victim = way
		}
	}
	least := set.weight[victim]
	t.evicted = t.evicted || least > 0
	set.checks[victim], set.weight[victim] = checkOf(b.talks[i]), max(least+1, least)
	at := number*talkWays + uint32(victim)
	c := &t.counts[at]
	*c = talk{error: least}
	c.seen[side] = 1
	if n := b.ends[i]; n >= 0 {
		copy(c.ends[:], b.four[n][:])
	} else {
		c.ends, c.six = b.six[^n], true
	}
	return at
}

// find returns the conversation of a packet, nil if it has none, or none any more.
func (t *talks) find(r *record) *talk {
	if r.talk == noTalk || t.sets[r.talk/talkWays].checks[r.talk%talkWays] != r.check {
		return nil
	}
	return &t.counts[r.talk]
}

// order follows the order of a matched packet of B, by the number that it has in A.
func (t *talks) order(r *record, number uint64) {
	c := t.find(r)
	if c == nil {
		return
	}
	latest := &c.latest[r.flags&backward]
	if number+1 < *latest {
		c.reordered++
		t.ordered++
		return
	}
	*latest = number + 1
}

// Conversation is what was counted of a conversation.
type Conversation struct {
	Name string `json:"name"`
	// CommunityID is the flow's Community ID, "" for ICMP and fragments.
	CommunityID string `json:"community_id,omitempty"`
	Counts
	Reordered uint64 `json:"reordered"`
	// Error bounds how many more packets the conversation may have had. It is 0 unless there
	// were too many conversations to count all.
	Error uint64 `json:"error"`
	talk  *talk  // until it is known which are listed
}

// top returns the n conversations with the most packets on only one side. Conversations without any
// follow, the largest first.
func (t *talks) top(n int) []Conversation {
	all := []Conversation{}
	for i := range t.counts {
		c := &t.counts[i]
		if t.sets[i/talkWays].checks[i%talkWays] == 0 {
			continue
		}
		both := c.seen[sideA] - min(c.only[sideA], c.seen[sideA])
		if both+c.only[sideA]+c.only[sideB] == 0 { // it is another one in A
			continue
		}
		all = append(all, Conversation{Counts: Counts{Both: both, OnlyA: c.only[sideA], OnlyB: c.only[sideB]}, Reordered: c.reordered, Error: uint64(c.error), Name: c.name()})
		all[len(all)-1].talk = c
	}
	slices.SortFunc(all, func(a, b Conversation) int {
		return cmp.Or(cmp.Compare(b.OnlyA+b.OnlyB, a.OnlyA+a.OnlyB), cmp.Compare(b.Both, a.Both), cmp.Compare(a.Name, b.Name))
	})
	all = all[:min(n, len(all))]
	for i := range all {
		all[i].CommunityID = all[i].talk.communityID()
		all[i].talk = nil
	}
	return all
}

// communityID returns the Community ID, which both directions share.
func (c *talk) communityID() string {
	cfg := keys.Config{Kind: keys.Biflow}
	if c.six {
		return cfg.CommunityID48(c.ends)
	}
	return cfg.CommunityID16([16]byte(c.ends[:]))
}

// name names both ends, the lower one first.
func (c *talk) name() string {
	cfg := keys.Config{Kind: keys.Biflow}
	if c.six {
		key := c.ends
		swapEnds(key[:16], key[16:32], key[32:])
		return cfg.Format48(key)
	}
	key := [16]byte(c.ends[:])
	swapEnds(key[:4], key[4:8], key[8:])
	return cfg.Format16(key)
}

// swapEnds swaps two ends if the first one is the greater. tail begins with the ports.
func swapEnds(src, dst, tail []byte) {
	order := slices.Compare(src, dst)
	if order < 0 || order == 0 && binary.BigEndian.Uint16(tail) <= binary.BigEndian.Uint16(tail[2:]) {
		return
	}
	for i := range src {
		src[i], dst[i] = dst[i], src[i]
	}
	tail[0], tail[1], tail[2], tail[3] = tail[2], tail[3], tail[0], tail[1]
}
