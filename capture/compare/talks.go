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

// talks are the conversations with the most packets. What is searched is apart from what is counted, so
// that it stays in the caches.
type talks struct {
	sets []talkSet
	all  []talk // at noTalk of packets without a conversation
	six  [][48]byte
	// evicted is whether any conversation made room.
	evicted bool
	ordered uint64 // packets that came behind a later packet of their direction
	touched uint64 // the OR of warm's reads, so that no compiler leaves them out
}

// talkSet holds the searched fields of a set in a cache line.
type talkSet struct {
	checks [talkWays]uint32 // parts of the hashes, 0 for none
	weight [talkWays]uint32 // packets of A, and of B that waited, with the packets of conversations that made room
}

// talk holds what was counted of a conversation, from when it got its place: a cache line.
type talk struct {
	Counts
	latest [2]uint64 // by direction: the number in A of the latest packet that B saw, plus 1
	// reordered counts packets that came behind a later packet of their direction.
	reordered uint32
	error     uint32 // packets that it may have had before, at most
	// ends is a key of kind keys.Flow, whose last byte is 0. Where it is 1, the key is in talks.six.
	ends [16]byte
}

func newTalks() *talks {
	return &talks{sets: make([]talkSet, talkSets), all: make([]talk, noTalk+1), six: make([][48]byte, noTalk)}
}

// checkOf returns the part of a conversation's hash that distinguishes it within its set.
func checkOf(hash uint32) uint32 { return hash &^ 1 }

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

// talkPlace is where the conversation of a packet is counted, or at noTalk.
type talkPlace struct {
	at uint32
	// hash is a part of the conversation's hash: what distinguishes it within its set, and the direction.
	hash uint32
}

// count counts at most a group of packets of b, from packet from on, and writes the places of their
// conversations. It touches memory before it needs it, as matcher.warm does.
func (t *talks) count(places []talkPlace, b *Batch, from int) {
	hashes, touched, added := b.talks[from:from+len(places)], uint64(0), uint64(0)
	for _, hash := range hashes {
		touched |= uint64(t.sets[hash>>52].checks[0])
	}
	var before [group]uint32
	for i, hash := range hashes {
		if hash == 0 {
			places[i] = talkPlace{at: noTalk}
			continue
		}
		set := &t.sets[hash>>52]
		way := set.way(checkOf(uint32(hash)))
		if way == talkWays { // the smallest makes room
			way, before[i%group] = set.smallest()
			set.checks[way] = checkOf(uint32(hash))
			added |= 1 << i
		}
		set.weight[way] = max(set.weight[way]+1, set.weight[way])
		places[i] = talkPlace{uint32(hash>>52)*talkWays + uint32(way), uint32(hash)}
	}
	for _, p := range places {
		touched |= t.all[p.at].Both
	}
	t.touched |= touched
	for ; added != 0; added &= added - 1 {
		i := bits.TrailingZeros64(added)
		t.add(places[i].at, before[i], b, from+i)
	}
}

// add begins the conversation of packet i of b, which may have had some packets before.
func (t *talks) add(at, before uint32, b *Batch, i int) {
	t.evicted = t.evicted || before > 0
	c, n := &t.all[at], b.ends[i]
	*c = talk{error: before}
	if n >= 0 {
		c.ends = b.four[n]
	} else {
		c.ends[15], t.six[at] = 1, b.six[^n]
	}
}

// has reports whether a packet has a conversation, and has it still.
func (t *talks) has(p talkPlace) bool {
	return p.at != noTalk && t.sets[p.at/talkWays].checks[p.at%talkWays] == checkOf(p.hash)
}

// warm touches the memory that order will touch for some packets of a queue, as matcher.warm does.
func (t *talks) warm(q *queue, from, to uint64) {
	touched := uint64(0)
	for ; from < to; from++ {
		touched |= t.all[q.at(from).talk.at].Both
	}
	t.touched |= touched
}

// order counts a matched packet of B, and follows the order, by the number that it has in A.
func (t *talks) order(at talkPlace, number uint64) {
	if !t.has(at) {
		return
	}
	c := &t.all[at.at]
	c.Both++
	latest := &c.latest[at.hash&1]
	if number+1 < *latest {
		c.reordered = max(c.reordered+1, c.reordered)
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
		return cmp.Or(compareCounts(t.all[a.at].Counts, t.all[b.at].Counts), cmp.Compare(a.name, b.name))
	})
	of := make([]Conversation, min(n, len(all)))
	for i := range of {
		c := &t.all[all[i].at]
		of[i] = Conversation{Counts: c.Counts, Reordered: uint64(c.reordered), Error: uint64(c.error), Name: all[i].name, CommunityID: t.communityID(all[i].at)}
	}
	return of
}

// largest returns the places of the n conversations that top lists, and of all with the same counts as
// the last of them: only these need names.
func (t *talks) largest(n int) []int {
	var all []int
	for at := range t.all {
		if t.all[at].Counts != (Counts{}) { // else A has its packets in another conversation, or all are outside
			all = append(all, at)
		}
	}
	slices.SortFunc(all, func(a, b int) int { return compareCounts(t.all[a].Counts, t.all[b].Counts) })
	end := min(n, len(all))
	for end > 0 && end < len(all) && compareCounts(t.all[all[end-1]].Counts, t.all[all[end]].Counts) == 0 {
		end++
	}
	return all[:end]
}

// compareCounts puts counts with more packets of a single side first, then counts with more packets of
// both.
func compareCounts(a, b Counts) int {
	return cmp.Or(cmp.Compare(b.OnlyA+b.OnlyB, a.OnlyA+a.OnlyB), cmp.Compare(b.Both, a.Both))
}

// communityID returns the Community ID, which both directions share.
func (t *talks) communityID(at int) string {
	cfg, key := keys.Config{Kind: keys.Biflow}, t.all[at].ends
	if key[15] != 0 {
		return cfg.CommunityID48(t.six[at])
	}
	return cfg.CommunityID16(key)
}

// name names both ends, the lower end first.
func (t *talks) name(at int) string {
	cfg, key := keys.Config{Kind: keys.Biflow}, t.all[at].ends
	if key[15] != 0 {
		key := t.six[at]
		swapEnds(key[:16], key[16:32], key[32:])
		return cfg.Format48(key)
	}
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
