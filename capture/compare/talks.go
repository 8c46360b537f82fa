// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/capture/keys"
)

// Conversations are counted in sets of eight. Where a set is full, the conversation with the fewest
// packets makes room, and the new conversation inherits the number as its error (Metwally, Agrawal,
// El Abbadi: Efficient computation of frequent and top-k elements in data streams, 2005).
const (
	talkSets = 1 << 12
	talkWays = 8
	noTalk   = talkSets * talkWays
)

// talks are the conversations with the most packets. What each packet touches is apart from
// the rest of a conversation, so that it stays in the caches.
type talks struct {
	sets   []talkSet
	paced  []pace // at noTalk of packets without a conversation
	counts []talk
	six    []bool // whether ends are of IPv6
	// evicted is whether any conversation made room.
	evicted bool
	ordered uint64 // packets that came behind a later packet of their direction
	touched uint64 // the OR of warm's reads, so that no compiler leaves them out
}

// talkSet holds the searched fields of a set in a cache line.
type talkSet struct {
	checks [talkWays]uint32 // parts of the hashes, 0 for none
	weight [talkWays]uint32 // packets, with the packets of conversations that made room
}

// pace holds what packets of a conversation change, from when it got its place: half of a cache line.
type pace struct {
	seen   uint64    // packets of A
	latest [2]uint64 // by direction: the number in A of the latest packet that B saw, plus 1
	// reordered counts packets that came behind a later packet of their direction.
	reordered uint32
	error     uint32 // packets that it may have had before, at most
}

// talk holds what few packets change of a conversation: a cache line.
type talk struct {
	only [2]uint64 // packets that only side A has, and only side B
	ends [48]byte  // a key of kind keys.Flow
}

func newTalks() *talks {
	return &talks{sets: make([]talkSet, talkSets), counts: make([]talk, noTalk), paced: make([]pace, noTalk+1), six: make([]bool, noTalk)}
}

// checkOf returns the part of a conversation's hash that distinguishes it within its set.
func checkOf(hash uint64) uint32 { return uint32(hash) &^ 1 }

// way returns which conversation of a set has that check, or talkWays. It has no branches, which
// packets of many conversations would make unpredictable.
func (s *talkSet) way(check uint32) int {
	at := equal32(s.checks[7], check)
	at = at<<1 | equal32(s.checks[6], check)
	at = at<<1 | equal32(s.checks[5], check)
	at = at<<1 | equal32(s.checks[4], check)
	at = at<<1 | equal32(s.checks[3], check)
	at = at<<1 | equal32(s.checks[2], check)
	at = at<<1 | equal32(s.checks[1], check)
	at = at<<1 | equal32(s.checks[0], check)
	return bits.TrailingZeros64(at | 1<<talkWays)
}

// equal32 returns 1 if a equals b, else 0.
func equal32(a, b uint32) uint64 { return (uint64(a^b) - 1) >> 63 }

// smallest returns the first conversation of those with the fewest packets, and their number. It has no
// branches, as way.
func (s *talkSet) smallest() (way int, weight uint32) {
	least := uint64(math.MaxUint64)
	for way := range s.weight {
		least = min(least, uint64(s.weight[way])<<3|uint64(way))
	}
	return int(least & (talkWays - 1)), uint32(least >> 3)
}

// count counts packets of a side, from packet from of b on, and replaces places by the places of their
// conversations. places has where they may be, or noTalk.
func (t *talks) count(places []uint32, side int, b *Batch, from int) {
	hashes := b.talks[from : from+len(places)]
	t.expect(places, side, hashes)
	for i, hash := range hashes {
		if hash == 0 {
			places[i] = noTalk
			continue
		}
		at, check := places[i], checkOf(hash)
		set := &t.sets[at/talkWays]
		if set.checks[at%talkWays] != check {
			way := set.way(check) // a packet of the group may have added it
			if at = at&^(talkWays-1) | uint32(way); way == talkWays {
				at = t.add(b, from+i)
			}
			places[i] = at
		}
		set.weight[at%talkWays] = max(set.weight[at%talkWays]+1, set.weight[at%talkWays])
		if side == sideA {
			t.paced[at].seen++
		}
	}
}

// expect replaces places by the places that conversations have, or will have if no other is added before,
// and touches the memory that count will touch, as matcher.warm does.
func (t *talks) expect(places []uint32, side int, hashes []uint64) {
	touched := uint64(0)
	for _, hash := range hashes {
		touched |= uint64(t.sets[hash>>52].checks[0])
	}
	var all [group]uint32
	added := all[:0]
	for i, hash := range hashes {
		set, at := &t.sets[hash>>52], places[i]
		if uint64(at/talkWays) == hash>>52 && set.checks[at%talkWays] == checkOf(hash) {
			continue
		}
		way := set.way(checkOf(hash))
		at = uint32(hash>>52)*talkWays + uint32(way)
		if way == talkWays {
			way, _ = set.smallest()
			at += uint32(way) - talkWays
			added = append(added, at)
		}
		places[i] = at
	}
	for _, at := range added {
		touched |= t.paced[at].seen | t.counts[at].only[0]
	}
	if side == sideA {
		for _, at := range places {
			touched |= t.paced[at].seen
		}
	}
	t.touched |= touched
}

// add makes room for the conversation of packet i of b, and returns its place.
func (t *talks) add(b *Batch, i int) uint32 {
	number := uint32(b.talks[i] >> 52)
	set := &t.sets[number]
	victim, least := set.smallest()
	t.evicted = t.evicted || least > 0
	set.checks[victim], set.weight[victim] = checkOf(b.talks[i]), least
	at := number*talkWays + uint32(victim)
	c, n := &t.counts[at], b.ends[i]
	t.paced[at], c.only, t.six[at] = pace{error: least}, [2]uint64{}, n < 0
	if n >= 0 {
		copy(c.ends[:], b.four[n][:])
	} else {
		c.ends = b.six[^n]
	}
	return at
}

// has reports whether a packet has a conversation, and has it still.
func (t *talks) has(r *record) bool {
	return r.talk != noTalk && t.sets[r.talk/talkWays].checks[r.talk%talkWays] == r.check
}

// warm touches the memory that order will touch for the first packets of a queue, as matcher.warm
// does.
func (t *talks) warm(q *queue) {
	touched := uint64(0)
	for number := q.first; number < min(q.first+group, q.next); number++ {
		if r := q.at(number); r.talk != noTalk {
			touched |= t.paced[r.talk].latest[r.flags&backward]
		}
	}
	t.touched |= touched
}

// order follows the order of a matched packet of B, by the number that it has in A.
func (t *talks) order(r *record, number uint64) {
	if !t.has(r) {
		return
	}
	latest := &t.paced[r.talk].latest[r.flags&backward]
	if number+1 < *latest {
		p := &t.paced[r.talk]
		p.reordered = max(p.reordered+1, p.reordered)
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
}

// top returns the n conversations with the most packets that a single side has. Conversations without
// such packets follow, the largest first.
func (t *talks) top(n int) []Conversation {
	type named struct {
		at   int
		name string
	}
	var all []named
	for _, at := range t.largest(n) {
		all = append(all, named{at, t.name(at)})
	}
	slices.SortStableFunc(all, func(a, b named) int {
		return cmp.Or(compareCounts(t.countsOf(a.at), t.countsOf(b.at)), cmp.Compare(a.name, b.name))
	})
	of := make([]Conversation, min(n, len(all)))
	for i := range of {
		p := &t.paced[all[i].at]
		of[i] = Conversation{Counts: t.countsOf(all[i].at), Reordered: uint64(p.reordered), Error: uint64(p.error), Name: all[i].name, CommunityID: t.communityID(all[i].at)}
	}
	return of
}

// largest returns the places of the n conversations that top lists, and of all with the same counts as
// the last of them: only these need names.
func (t *talks) largest(n int) []int {
	var all []int
	for at := range t.counts {
		if t.sets[at/talkWays].checks[at%talkWays] == 0 || t.countsOf(at) == (Counts{}) { // A has its packets in another conversation
			continue
		}
		all = append(all, at)
	}
	slices.SortFunc(all, func(a, b int) int { return compareCounts(t.countsOf(a), t.countsOf(b)) })
	end := min(n, len(all))
	for end > 0 && end < len(all) && compareCounts(t.countsOf(all[end-1]), t.countsOf(all[end])) == 0 {
		end++
	}
	return all[:end]
}

// countsOf returns the counts of a conversation.
func (t *talks) countsOf(at int) Counts {
	c, a := &t.counts[at], t.paced[at].seen
	return Counts{Both: a - min(c.only[sideA], a), OnlyA: c.only[sideA], OnlyB: c.only[sideB]}
}

// compareCounts puts counts with more packets of a single side first, then counts with more packets of
// both.
func compareCounts(a, b Counts) int {
	return cmp.Or(cmp.Compare(b.OnlyA+b.OnlyB, a.OnlyA+a.OnlyB), cmp.Compare(b.Both, a.Both))
}

// communityID returns the Community ID, which both directions share.
func (t *talks) communityID(at int) string {
	c, cfg := &t.counts[at], keys.Config{Kind: keys.Biflow}
	if t.six[at] {
		return cfg.CommunityID48(c.ends)
	}
	return cfg.CommunityID16([16]byte(c.ends[:]))
}

// name names both ends, the lower end first.
func (t *talks) name(at int) string {
	c, cfg := &t.counts[at], keys.Config{Kind: keys.Biflow}
	if t.six[at] {
		key := c.ends
		swapEnds(key[:16], key[16:32], key[32:])
		return cfg.Format48(key)
	}
	key := [16]byte(c.ends[:])
	swapEnds(key[:4], key[4:8], key[8:])
	return cfg.Format16(key)
}

// swapEnds swaps two ends if the first is the greater. tail begins with the ports.
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
