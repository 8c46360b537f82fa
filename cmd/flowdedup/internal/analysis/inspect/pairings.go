// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/capture/traits"
)

// pairings find flows that are sent twice among the matches of a trial: to a relay and on from
// there, or on lines A and B. Nearly each packet of such a flow has a partner in the other one, and
// contents of its own. Senders that repeat a request, a keepalive or silence repeat its contents.
type pairings struct {
	flows   *flows
	numbers map[uint64]uint32
	list    []pairing // the first one is for all pairs that prove nothing
}

// flows counts packets by flow.
type flows struct {
	numbers map[uint64]uint32
	packets []uint32 // the first one is for packets that prove nothing
}

const (
	maxFlowsTried = 1 << 14
	maxPairings   = 1 << 13
	// fewPaired is how many packets of a pair of flows are too few to prove anything.
	fewPaired = 8
	// leastContents is the least payload, in bytes, that is not the same by chance.
	leastContents = 12
)

// pairing counts the matches of two flows.
type pairing struct {
	flows    [2]uint32
	relay    bool      // one flow ends where the other one begins
	all      uint32    // matches
	earlier  [2]uint32 // of them, by the flow that came first
	contents contents
}

func newPairings(f *flows) pairings {
	return pairings{flows: f, numbers: map[uint64]uint32{}, list: make([]pairing, 1)}
}

func newFlows() *flows { return &flows{map[uint64]uint32{}, make([]uint32, 1)} }

// number counts s as a packet of its flow, and returns the number of the flow. It returns 0 for
// packets that prove nothing: of ICMP, which relays do not send on, with little payload, and of too
// many flows.
func (t *flows) number(conversation uint64, s *tried) uint32 {
	const udpHeader = 8
	payload := int(s.bytes) - int(s.header) - udpHeader
	if s.proto == protoTCP {
		payload = int(s.payload)
	}
	if conversation == 0 || payload < leastContents || s.proto == protoICMP || s.proto == protoICMPv6 {
		return 0
	}
	key := traits.Mix(conversation, uint64(s.flags&backward))
	number, ok := t.numbers[key]
	if !ok {
		if len(t.packets) >= maxFlowsTried {
			return 0
		}
		number = uint32(len(t.packets))
		t.numbers[key] = number
		t.packets = append(t.packets, 0)
	}
	t.packets[number]++
	return number
}

// add counts a match, and returns the number of the pair of flows. A relay receives one packet and
// sends the other one. Two lines have no address in common. A packet with the same source is one
// that a sender sends to several receivers, one with the same destination may be its sender's at
// another interface, and one the other way is an answer.
func (t *pairings) add(first, copied *tried, digest uint64) uint32 {
	relay := first.ends[1] == copied.ends[0]
	back := first.ends[0] == copied.ends[1]
	if first.flow == 0 || copied.flow == 0 || first.ends[0] == copied.ends[0] || first.ends[1] == copied.ends[1] || relay && back {
		return 0
	}
	low, high := min(first.flow, copied.flow), max(first.flow, copied.flow)
	key := uint64(low)<<32 | uint64(high)
	number, ok := t.numbers[key]
	if !ok {
		if len(t.list) >= maxPairings {
			return 0
		}
		number = uint32(len(t.list))
		t.numbers[key] = number
		t.list = append(t.list, pairing{flows: [2]uint32{low, high}, relay: relay || back})
	}
	m := &t.list[number]
	m.all++
	m.earlier[count(first.flow == high)]++
	m.contents.add(digest)
	return number
}

// stands reports whether the packets of two flows are the same. Losses leave some without a partner,
// and one flow may have been captured for longer. A relay cannot send what it has not received; of
// two lines either may be ahead.
func (t *pairings) stands(number uint32) bool {
	m := &t.list[number]
	one, other := t.flows.packets[m.flows[0]], t.flows.packets[m.flows[1]]
	return number > 0 && m.all >= fewPaired && 10*m.all >= 9*min(one, other) && 2*m.all >= max(one, other) &&
		(!m.relay || 10*max(m.earlier[0], m.earlier[1]) >= 9*m.all) && m.contents.vary(m.all)
}

// contents is a set of digests, of which each sets a bit.
type contents [4]uint64

func (c *contents) add(digest uint64) { c[digest>>6&3] |= 1 << (digest & 63) }

// vary reports whether nearly all of n digests differ. Many digests fill the set, so at most a fifth
// of it is asked for.
func (c *contents) vary(n uint32) bool {
	const enough = 48
	different := 0
	for _, word := range c {
		different += bits.OnesCount64(word)
	}
	return different >= min(int(n)*3/4, enough)
}
