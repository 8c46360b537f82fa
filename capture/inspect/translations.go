// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// translations finds the copies that identities with addresses miss: packets before and behind
// address translation. It looks at the first packets, and if it finds any there, at all packets that
// are all measured.
//
// A sender may send equal packets to several receivers, and several senders equal packets to
// one. So two packets that differ in addresses prove nothing. What does is a pair of addresses
// of which one replaces the other: see mapping.stands.
type translations struct {
	slots    []translated // by a part of the digest; the latest packet stays
	mappings map[uint64]uint32
	list     []mapping // the first one is for all pairs beyond the bound
	matches  []match
	decided  bool
	// over is set once it looks at no further packets. Workers read it ahead of their turn.
	over atomic.Bool
}

const (
	// firstBits is log2 of how many packets are looked at in any case.
	firstBits   = 14
	slotBits    = 13
	maxMappings = 1 << 13
	// fewAcked is how many segments of one direction prove a translation.
	fewAcked = 3
	// maxOuter is how many addresses a recommended condition names at most.
	maxOuter = 4
)

// translated is a packet by its digest without what translation changes.
type translated struct {
	check uint64
	ends  [2]uint64 // source and destination
	plain bool      // see isPlain
	sighting
}

// match is a packet that differs from an earlier one in addresses.
type match struct {
	delay           uint64
	mapping         uint32
	earlier, number uint32 // of the packets in the stream
	first, copied   uint16 // the points, in order of time
	kind            difference
	proto           protocolKey
	step            int8 // by how much the time to live of the copy is smaller
	anyway          verdicts
	foreign         bool // at another capture point
	rewrapped       bool
}

// mapping counts the matches of a pair of addresses, of which one stands for the other.
type mapping struct {
	all uint32
	// lowered counts packets that a router may have sent on, by direction, and acked the TCP
	// segments among them that acknowledge something.
	lowered [2]uint32
	acked   uint32
	// outer is the address that the translation put in as a source. It is on the other side of
	// the hosts behind it. It is not valid if both addresses change, or if it is unknown.
	outer netip.Addr
	// hidden is set if some packets are not plain, so that no condition may name the address.
	hidden bool
}

// stands reports whether a translation made the matches. Routers lower times to live, and senders
// do not. Distances may make them differ in one direction; in both, or of numbered segments that
// acknowledge the same, only if packets were sent on.
func (m *mapping) stands() bool {
	lowered := m.lowered[0] + m.lowered[1]
	return 2*lowered >= m.all && (m.lowered[0] > 0 && m.lowered[1] > 0 || m.acked >= fewAcked)
}

func newTranslations() *translations {
	return &translations{slots: make([]translated, 1<<slotBits), mappings: map[uint64]uint32{}, list: make([]mapping, 1)}
}

// translatedIdentity is the identity that leaves out what translation changes.
func (n *Inspector) translatedIdentity() *identity.Identity {
	return identity.New(identity.Config{Kind: identity.Inner, Ignore: identity.IgnoreAlso(identity.NAT | identity.MSS), Tunnels: n.cfg.Tunnels})
}

// add looks at the packets of a batch that are all measured, unless a filter removes them anyway,
// however narrow its window is.
func (t *translations) add(n *Inspector, p *Batch, b *capture.Batch) {
	for i := range min(len(p.translated), len(p.seen)) {
		s, frame := &p.seen[i], int(p.frames[i])
		if t.isOver(s.number) {
			return
		}
		if s.proto == headers.NonIP || p.doubts[i] != known || s.time == calendar.NoTime || p.verdicts[i].anywhere&1 != 0 {
			continue
		}
		ip := b.Data(frame)[p.origins[i].start:]
		src, dst := addressesOf(ip)
		if isGroup(dst) {
			continue
		}
		d := &p.translated[i]
		e := &t.slots[d[0]>>(64-slotBits)]
		next := translated{
			check: d[1], ends: [2]uint64{hashOf(src, n.cfg.Seed), hashOf(dst, n.cfg.Seed)},
			plain: isPlain(b.Interfaces[b.Frames[frame].Interface].LinkType, p.origins[i].start), sighting: *s,
		}
		delay := distance(s.time, e.time)
		matches := e.check == next.check && e.ends != next.ends && delay <= uint64(n.cfg.Window)
		if matches {
			t.match(e, &next, src, p.verdicts[i])
		}
		if !matches || delay > uint64(n.windows[0]) {
			*e = next
		}
	}
}

// isOver reports whether packets from a number on are not looked at.
func (t *translations) isOver(number uint64) bool {
	if number > 1<<firstBits && !t.decided {
		t.decided = true
		copies, _ := t.count()
		t.over.Store(copies == 0)
	}
	return number > 1<<allBits || t.over.Load()
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

// match counts a packet that equals e but for translation. source is its own. Filters remove the
// packet anyway as v has it.
func (t *translations) match(e, s *translated, source []byte, v verdicts) {
	src, dst := pairOf(e.ends[0], s.ends[0]), pairOf(e.ends[1], s.ends[1])
	number, ok := t.mappings[src+dst]
	if !ok && len(t.list) < maxMappings {
		number = uint32(len(t.list))
		t.mappings[src+dst] = number
		t.list = append(t.list, mapping{})
	}
	m := &t.list[number]
	m.all++
	m.hidden = m.hidden || !s.plain || !e.plain
	first, copied := &e.sighting, &s.sighting
	if s.time < e.time {
		first, copied = copied, first
	}
	step := int(first.hops) - int(copied.hops)
	if step != 0 && max(step, -step) <= mostRouters {
		m.lowered[count(src > dst)]++
		m.acked += uint32(count(s.acknowledges()))
		if dst == 0 && s.hops < e.hops {
			m.outer, _ = netip.AddrFromSlice(source)
		}
	}
	t.matches = append(t.matches, match{
		delay: distance(s.time, e.time), mapping: number, earlier: uint32(min(e.number, s.number)), number: uint32(max(e.number, s.number)),
		first: first.point, copied: copied.point, kind: kindOf(first, copied)&^(checksumKind|truncatedKind) | natKind,
		proto: protocolKey{proto: s.proto}, step: int8(step), anyway: v, foreign: first.device != copied.device, rewrapped: first.isRewrapped(copied),
	})
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

// addressesOf returns the source and the destination of a packet.
func addressesOf(ip []byte) (src, dst []byte) {
	if ip[0]>>4 == 6 {
		return ip[8:24], ip[24:40]
	}
	return ip[12:16], ip[16:20]
}

// isGroup reports whether an address is of a group. No translation changes it.
func isGroup(address []byte) bool {
	return address[0] == 0xff || len(address) == 4 && address[0] >= 224
}

// hashOf hashes an address.
func hashOf(address []byte, seed uint64) uint64 {
	for ; len(address) > 0; address = address[4:] {
		seed = traits.Mix(seed, uint64(binary.LittleEndian.Uint32(address)))
	}
	return seed
}

// isCopy reports whether the matches of mapping i are copies.
func (t *translations) isCopy(i uint32) bool { return i > 0 && t.list[i].stands() }

// count counts the copies, and the other matches.
func (t *translations) count() (copies, others uint64) {
	for i := range t.list {
		n := uint64(t.list[i].all)
		others += n
		if t.isCopy(uint32(i)) {
			copies += n
		}
	}
	return copies, others - copies
}

// addTo returns m with the matches, each for its part of all packets, or m if these are too few
// to ignore addresses for.
func (t *translations) addTo(m *measure, packets uint64) *measure {
	copies, others := t.count()
	measured := min(packets, 1<<allBits)
	if copies == 0 || float64(copies) < fewCopies*float64(measured) || copies <= 2*others {
		return m
	}
	m = m.clone()
	share := func(i int) uint64 { return uint64(float64(i) * float64(packets) / float64(measured)) }
	for i := range t.matches {
		m.addMatch(&t.matches[i], share(i+1)-share(i), t.isCopy(t.matches[i].mapping))
	}
	m.outer = t.outer()
	return m
}

// addMatch counts a match as weight packets.
func (m *measure) addMatch(x *match, weight uint64, isCopy bool) {
	var v verdicts
	for w, span := range m.owner.windows {
		if x.delay <= uint64(span) {
			v.anywhere |= 1 << w
		}
	}
	if x.foreign {
		v.across = v.anywhere &^ x.anyway.across
	}
	v.anywhere &^= x.anyway.anywhere
	v.count(&m.removed, weight)
	if x.anyway.anywhere != 0 {
		return // it has been counted
	}
	m.equal += weight
	span := m.span(x.delay)
	if !isCopy {
		c := &m.same.counts[addressedPacket][span]
		c.all += weight
		v.count(&c.removed, weight)
		m.same.note(x.proto, addressedPacket, span, weight, Example{
			Packet: uint64(x.number), Earlier: uint64(x.earlier), Delay: int64(x.delay), What: "the same between other addresses",
		})
		return
	}
	m.translated += weight
	m.kinds[x.kind] += weight
	m.clamped += weight * count(x.kind&mssKind != 0)
	m.delayed[span] += weight
	m.foreign += weight * count(x.foreign)
	m.unmatched += weight * count(x.rewrapped)
	if x.step != 0 {
		m.hops[int(x.step)] += weight
	}
	m.matrix.add(&sighting{point: x.first, hops: uint8(max(x.step, 0))}, &sighting{point: x.copied, hops: uint8(max(-x.step, 0))}, x.delay, weight)
}

// outer returns the addresses of one side of all translations, or none if they are unknown, too
// many, or hidden.
func (t *translations) outer() []netip.Addr {
	all := map[netip.Addr]bool{}
	for i := range t.list {
		if !t.isCopy(uint32(i)) {
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

// translate digests the packets that were picked without what translation changes, if they are
// looked at.
func (p *Batch) translate(sums []digest.Digest) {
	if p.translation == nil || p.inspector.level.Load() != 0 || p.inspector.translations.over.Load() {
		return
	}
	p.translation.FromHeaders(&p.picked, 0, p.headers[:len(sums)]).Sum(sums, p.digester)
	p.translated = append(p.translated, sums...)
}
