// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"maps"
	"math/bits"
	"net/netip"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// mappings find translations of addresses among the matches of a trial. Two packets that differ in
// addresses prove nothing. An address that replaces another address in many packets does: see
// mappings.stands.
type mappings struct{ byKey[mapping] }

// byKey has an entry for each key, up to a bound. Entry 0 is for all other keys.
type byKey[T any] struct {
	numbers map[uint64]uint32
	list    []T
	most    int
}

func newByKey[T any](most int) byKey[T] {
	return byKey[T]{map[uint64]uint32{}, make([]T, 1), most}
}

// number returns the number of the entry of a key. A new entry is as given.
func (n *byKey[T]) number(key uint64, entry T) uint32 {
	number, ok := n.numbers[key]
	if !ok && len(n.list) < n.most {
		number = uint32(len(n.list))
		n.numbers[key] = number
		n.list = append(n.list, entry)
	}
	return number
}

const (
	maxMappings = 1 << 13
	// fewAcked is how many segments of one direction prove a translation.
	fewAcked = 3
	// maxOuter is how many addresses a recommended condition names at most.
	maxOuter = 4
)

// mapping counts the matches of a pair of addresses that may stand for each other.
type mapping struct {
	all uint32
	// lowered counts packets that a router may have sent on, by direction, and acked the TCP
	// segments among them that acknowledge something.
	lowered [2]uint32
	acked   uint32
	// renumbered counts packets whose identification differs. contents has the contents of all.
	renumbered uint32
	contents   contents
	// outer is the address that the translation put in as a source. It is on the other side of
	// the hosts behind it. It is not valid if both addresses change, or if it is unknown.
	outer netip.Addr
	// hidden is set if some packets are not plain, so that no condition may name the address.
	hidden bool
}

// stands reports whether a translation made the matches of a mapping. Routers lower times to live,
// and senders do not. Hosts at different distances make them differ in one direction. If they differ in
// both directions, or of segments that acknowledge the same, packets were sent on. Packets whose
// identifications differ are the same only if each has contents of its own.
func (t *mappings) stands(number uint32) bool {
	m := &t.list[number]
	lowered := m.lowered[0] + m.lowered[1]
	return number > 0 && 2*lowered >= m.all && (m.lowered[0] > 0 && m.lowered[1] > 0 || m.acked >= fewAcked) &&
		(m.renumbered == 0 || m.contents.vary(m.all))
}

// plainStarts has where packets begin that a condition on addresses finds: neither behind tags or
// labels nor in tunnels.
var plainStarts = map[capture.LinkType]uint32{
	capture.LinkEthernet: 14, capture.LinkLinuxSLL: 16, capture.LinkLinuxSLL2: 20, capture.LinkRaw: 0,
}

// isPlain reports whether a condition on addresses finds the addresses of a packet.
func isPlain(link capture.LinkType, start uint32) bool {
	at, ok := plainStarts[link]
	return ok && at == start
}

// add counts s, which comes from source and equals e but for addresses, and returns the number of the
// mapping. The time to live of the later packet is smaller by step. No translation changes the address of a
// group.
func (t *mappings) add(e, s *tried, source []byte, digest uint64, step int) uint32 {
	src, dst := pairOf(e.ends[0], s.ends[0]), pairOf(e.ends[1], s.ends[1])
	if src+dst == 0 || (e.flags|s.flags)&toGroup != 0 {
		return 0
	}
	number := t.number(src+dst, mapping{})
	m := &t.list[number]
	m.all++
	m.renumbered += uint32(count(e.ipID != s.ipID))
	m.contents.add(digest)
	m.hidden = m.hidden || !s.plain || !e.plain
	if step != 0 && max(step, -step) <= mostRouters {
		m.lowered[count(src > dst)]++
		m.acked += uint32(count(s.acknowledges()))
		if dst == 0 && s.hops < e.hops {
			m.outer, _ = netip.AddrFromSlice(source)
		}
	}
	return number
}

// acknowledges reports whether s is a segment of an open connection.
func (s *sighting) acknowledges() bool {
	const rst, ack = 4, 0x10
	return s.proto == protoTCP && s.tcp&(rst|ack) == ack
}

// pairOf hashes two ends in any order. It returns 0 for equal ends.
func pairOf(a, b uint64) uint64 {
	if a == b {
		return 0
	}
	return max(traits.Mix(min(a, b), max(a, b)), 1)
}

// outer returns the addresses of one side of all translations, or nil if they are unknown, too
// many, or hidden.
func (t *mappings) outer() []netip.Addr {
	all := map[netip.Addr]bool{}
	for i := range t.list {
		if !t.stands(uint32(i)) {
			continue
		}
		if t.list[i].hidden {
			return nil
		}
		all[t.list[i].outer] = true
	}
	if all[netip.Addr{}] || len(all) > maxOuter {
		return nil
	}
	return slices.SortedFunc(maps.Keys(all), netip.Addr.Compare)
}

// pairings find flows that are sent twice among the matches of a trial: to a relay and on from
// there, or on lines A and B. Nearly each packet of such a flow has a partner in the second flow, and
// contents of its own. Senders that repeat a request, a keepalive or silence repeat its contents.
type pairings struct {
	flows *flows
	byKey[pairing]
}

// flows counts packets by flow.
type flows struct{ byKey[uint32] }

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
	relay    bool      // the destination of a flow is the source of the other
	all      uint32    // matches
	earlier  [2]uint32 // of them, by the flow that came first
	contents contents
}

// count counts s as a packet of its flow, and returns the number of the flow. It returns 0 for
// packets that prove nothing: of ICMP, which relays do not send on, with little payload, and of too
// many flows.
func (t *flows) count(conversation uint64, s *tried) uint32 {
	const udpHeader = 8
	payload := int(s.bytes) - int(s.header) - udpHeader
	if s.proto == protoTCP {
		payload = int(s.payload)
	}
	if conversation == 0 || payload < leastContents || s.proto == protoICMP || s.proto == protoICMPv6 {
		return 0
	}
	number := t.number(traits.Mix(conversation, uint64(s.flags&backward)), 0)
	t.list[number]++
	return number
}

// add counts a match, and returns the number of the pair of flows. A relay receives the first packet and
// sends the second. Two lines have no address in common. Packets with the same source may go to
// several receivers, packets with the same destination may come from two interfaces of a sender, and a
// packet the other way is an answer.
func (t *pairings) add(first, copied *tried, digest uint64) uint32 {
	relay := first.ends[1] == copied.ends[0]
	back := first.ends[0] == copied.ends[1]
	if first.flow == 0 || copied.flow == 0 || first.ends[0] == copied.ends[0] || first.ends[1] == copied.ends[1] || relay && back {
		return 0
	}
	low, high := min(first.flow, copied.flow), max(first.flow, copied.flow)
	number := t.number(uint64(low)<<32|uint64(high), pairing{flows: [2]uint32{low, high}, relay: relay || back})
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
	one, other := t.flows.list[m.flows[0]], t.flows.list[m.flows[1]]
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
