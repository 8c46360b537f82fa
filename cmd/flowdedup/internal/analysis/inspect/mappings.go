// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// mappings find translations of addresses among the matches of a trial. Two packets that differ in
// addresses prove nothing. A pair of addresses of which one replaces the other does: see
// mapping.stands.
type mappings struct {
	numbers map[uint64]uint32
	list    []mapping // the first one is for all pairs beyond the bound
}

const (
	maxMappings = 1 << 13
	// fewAcked is how many segments of one direction prove a translation.
	fewAcked = 3
	// maxOuter is how many addresses a recommended condition names at most.
	maxOuter = 4
)

// mapping counts the matches of a pair of addresses, of which one stands for the other.
type mapping struct {
	all uint32
	// lowered counts packets that a router may have sent on, by direction, and acked the TCP
	// segments among them that acknowledge something.
	lowered [2]uint32
	acked   uint32
	// renumbered counts packets with another identification. contents has those of all.
	renumbered uint32
	contents   contents
	// outer is the address that the translation put in as a source. It is on the other side of
	// the hosts behind it. It is not valid if both addresses change, or if it is unknown.
	outer netip.Addr
	// hidden is set if some packets are not plain, so that no condition may name the address.
	hidden bool
}

func newMappings() mappings {
	return mappings{numbers: map[uint64]uint32{}, list: make([]mapping, 1)}
}

// stands reports whether a translation made the matches of a mapping. Routers lower times to live,
// and senders do not. Distances may make them differ in one direction; in both, or of numbered
// segments that acknowledge the same, only if packets were sent on. Packets with another
// identification are the same only if each has contents of its own.
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

// isPlain reports whether a condition on addresses finds those of a packet.
func isPlain(link capture.LinkType, start uint32) bool {
	at, ok := plainStarts[link]
	return ok && at == start
}

// add counts s, which equals e but for addresses, and returns the number of the mapping. The time to
// live of the later one is smaller by step. No translation changes the address of a group.
func (t *mappings) add(e, s *tried, digest uint64, step int) uint32 {
	src, dst := pairOf(e.ends[0], s.ends[0]), pairOf(e.ends[1], s.ends[1])
	if src+dst == 0 || (e.flags|s.flags)&toGroup != 0 {
		return 0
	}
	number, ok := t.numbers[src+dst]
	if !ok && len(t.list) < maxMappings {
		number = uint32(len(t.list))
		t.numbers[src+dst] = number
		t.list = append(t.list, mapping{})
	}
	m := &t.list[number]
	m.all++
	m.renumbered += uint32(count(e.ipID != s.ipID))
	m.contents.add(digest)
	m.hidden = m.hidden || !s.plain || !e.plain
	if step != 0 && max(step, -step) <= mostRouters {
		m.lowered[count(src > dst)]++
		m.acked += uint32(count(s.acknowledges()))
		if dst == 0 && s.hops < e.hops {
			m.outer, _ = netip.AddrFromSlice(s.source)
		}
	}
	return number
}

// acknowledges reports whether s is a segment of an open connection.
func (s *sighting) acknowledges() bool {
	const rst, ack = 4, 0x10
	return s.proto == protoTCP && s.tcp&(rst|ack) == ack
}

// pairOf hashes two ends in any order. It returns 0 for equal ones.
func pairOf(a, b uint64) uint64 {
	if a == b {
		return 0
	}
	return max(traits.Mix(min(a, b), max(a, b)), 1)
}

// outer returns the addresses of one side of all translations, or none if they are unknown, too
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
