// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// triedFields are the lists of fields that are ignored in addition to the usual fields, each in a trial
// of its own. A shorter list comes before the lists that it is a part of. MSS is in all, since copies
// that differ in the maximum segment size are counted by themselves.
var triedFields = [...]struct {
	ignore []string // in the words of the flag
	fields identity.Fields
}{
	{[]string{"nat"}, identity.NAT | identity.MSS},
	{[]string{"nat", "ip-id"}, identity.NAT | identity.IPID | identity.MSS},
}

// trials compares the first packets without further fields. Where a list of fields finds copies, that
// trial compares all packets that are all measured. Equal packets are no copies by themselves: a
// sender may send the same to several receivers, and several senders the same to a receiver. Mappings and
// pairings have the evidence.
type trials struct {
	list     []*trial
	recent   []tried // the latest packets, by their numbers
	flows    *flows
	compared bool // any packet
}

// trial is the comparison without the fields of one list.
type trial struct {
	number int // in triedFields
	// lists has the latest packet of each list, by a part of the digest, and links has its place there by
	// the number of a packet, as recent.
	lists    []uint32
	links    []triedLink
	mappings mappings
	pairings pairings
	matches  []match
	decided  bool
	// over is set once it looks at no further packets. Workers read it ahead of their turn.
	over atomic.Bool
}

const (
	// firstBits is log2 of how many packets are looked at in any case, and of how many stay.
	firstBits = 14
	listBits  = firstBits + 1
)

// triedLink is the place of a packet in a list: part of its digest, and the number of the packet behind it,
// which is earlier. No key of a run makes packets push each other out of a list.
type triedLink struct {
	check uint64
	next  uint32
}

// tried is a packet that is compared.
type tried struct {
	usual  uint64    // the digest with all fields
	ends   [2]uint64 // source and destination
	flow   uint32    // its number among flows
	ipID   uint16
	header uint8 // bytes of the shortest IP header
	plain  bool  // see isPlain
	sighting
}

// match is a packet that equals an earlier packet but for the further fields.
type match struct {
	delay            uint64
	mapping, pairing uint32
	earlier, number  uint32 // of the packets in the stream
	first, copied    uint16 // the points, in order of time
	kind             difference
	proto            protocolKey
	step             int8 // by how much the time to live of the copy is smaller
	anyway           verdicts
	foreign          bool // at another capture point
	rewrapped        bool
}

// newTrials makes the trials, or none.
func newTrials(any bool) (t trials) {
	if !any {
		return t
	}
	t.recent, t.flows = make([]tried, 1<<firstBits), &flows{newByKey[uint32](maxFlowsTried)}
	for i := range triedFields {
		t.list = append(t.list, &trial{number: i, lists: make([]uint32, 1<<listBits), links: make([]triedLink, 1<<firstBits),
			mappings: mappings{newByKey[mapping](maxMappings)}, pairings: pairings{t.flows, newByKey[pairing](maxPairings)}})
	}
	return t
}

// triedIdentities returns the identities of all trials.
func (n *Inspector) triedIdentities() (all []*identity.Identity) {
	for i := range triedFields {
		all = append(all, identity.New(identity.Config{Kind: identity.Inner, Ignore: identity.IgnoreAlso(triedFields[i].fields), Tunnels: n.cfg.Tunnels}))
	}
	return all
}

// add looks at the packets of a batch that are all measured, unless a filter removes them anyway,
// however narrow its window is.
func (t *trials) add(n *Inspector, p *Batch, b *capture.Batch) {
	for i := range p.seen {
		s := &p.seen[i]
		if !t.goOn(s.number) {
			return
		}
		if s.proto == headers.NonIP || s.time == calendar.NoTime || p.verdicts[i].anywhere&1 != 0 {
			continue
		}
		t.compared = true
		next, source := p.triedPacket(n, b, i)
		next.flow = t.flows.count(p.origins[i].conversation, &next)
		for _, one := range t.list {
			if digests := p.tried[one.number]; i < len(digests) && digests[i] != (digest.Digest{}) && !one.over.Load() {
				one.add(t.recent, n, &next, source, &digests[i], p.verdicts[i])
			}
		}
		t.recent[s.number%uint64(len(t.recent))] = next
	}
}

// add compares s, which has an address as its source, and digest d. Filters remove it anyway as v has it.
func (t *trial) add(recent []tried, n *Inspector, s *tried, source []byte, d *digest.Digest, v verdicts) {
	const mask = 1<<firstBits - 1
	list, number := &t.lists[d[0]>>(64-listBits)], uint32(s.number)
	at := list
	for *at != 0 && number-*at <= mask && t.links[*at&mask].check != d[1] {
		at = &t.links[*at&mask].next
	}
	if *at != 0 && number-*at <= mask {
		e := &recent[*at&mask]
		delay := distance(s.time, e.time)
		if delay <= uint64(n.cfg.Window) && !(e.usual == s.usual && s.equals(&e.sighting)) {
			t.match(e, s, source, d[1], v)
			if delay <= uint64(n.windows[0]) {
				return
			}
		}
		*at = t.links[*at&mask].next // the list has the latest of equal packets only
	}
	t.links[number&mask], *list = triedLink{d[1], *list}, number
}

// goOn reports whether packets from a number on are looked at.
func (t *trials) goOn(number uint64) bool {
	goOn := false
	for _, one := range t.list {
		goOn = !one.isOver(number) || goOn
	}
	return goOn
}

// triedPacket describes element i of p, and returns its source.
func (p *Batch) triedPacket(n *Inspector, b *capture.Batch, i int) (next tried, source []byte) {
	frame := int(p.frames[i])
	ip := b.Data(frame)[p.origins[i].start:]
	src, dst := addressesOf(ip)
	next = tried{
		usual: p.digests[i][0], ends: [2]uint64{hashOf(src, n.cfg.Seed), hashOf(dst, n.cfg.Seed)},
		plain: isPlain(b.Interfaces[b.Frames[frame].Interface].LinkType, p.origins[i].start), sighting: p.seen[i],
	}
	next.header = 40
	if ip[0]>>4 == 4 {
		next.header, next.ipID = 20, binary.BigEndian.Uint16(ip[4:])
	}
	if isGroup(dst) {
		next.flags |= toGroup
	}
	return next, src
}

// reach returns how many of the first packets are looked at.
func (t *trial) reach(packets uint64) uint64 {
	if t.over.Load() {
		return min(packets, 1<<firstBits)
	}
	return min(packets, 1<<allBits)
}

// isOver reports whether packets from a number on are not looked at.
func (t *trial) isOver(number uint64) bool {
	if number > 1<<firstBits && !t.decided {
		t.decided = true
		copies, _ := t.count()
		t.over.Store(copies == 0)
	}
	return number > 1<<allBits || t.over.Load()
}

// match counts a packet that equals e but for the further fields, without which both have a digest.
func (t *trial) match(e, s *tried, source []byte, digest uint64, v verdicts) {
	first, copied := e, s
	if s.time < e.time {
		first, copied = copied, first
	}
	step := int(first.hops) - int(copied.hops)
	kind := kindOf(&first.sighting, &copied.sighting) &^ (checksumKind | truncatedKind)
	if e.ipID != s.ipID {
		kind |= numberKind
	}
	t.matches = append(t.matches, match{
		delay: distance(s.time, e.time), mapping: t.mappings.add(e, s, source, digest, step), pairing: t.pairings.add(first, copied, digest),
		earlier: uint32(min(e.number, s.number)), number: uint32(max(e.number, s.number)),
		first: first.point, copied: copied.point, kind: kind, proto: protocolKey{proto: s.proto}, step: int8(step),
		anyway: v, foreign: first.device != copied.device, rewrapped: first.isRewrapped(&copied.sighting),
	})
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

// try digests the packets that were picked without the fields of each trial, if it looks at them. A
// packet in doubt has a digest of zeros.
func (p *Batch) try(h []headers.Header) {
	if p.inspector.level.Load() != 0 {
		return
	}
	for i, t := range p.inspector.trials.list {
		if t.over.Load() {
			continue
		}
		sums, messages := p.sums[:len(h)], p.trials[i].FromHeaders(&p.picked, 0, h)
		messages.Sum(sums, p.digester)
		for _, doubt := range messages.Doubts() {
			sums[doubt.Number] = digest.Digest{}
		}
		p.tried[i] = append(p.tried[i], sums...)
	}
}

// why says what made a copy that only a trial finds.
type why uint8

const (
	noCopy         why = iota
	translatedCopy     // a translation of addresses
	relayedCopy        // a relay, or a second line
)

// isCopy returns what made a match, if it is a copy.
func (t *trial) isCopy(x *match) why {
	switch {
	case t.mappings.stands(x.mapping):
		return translatedCopy
	case t.pairings.stands(x.pairing):
		return relayedCopy
	}
	return noCopy
}

// count counts the copies, and the other matches.
func (t *trial) count() (copies, others uint64) {
	for i := range t.matches {
		if t.isCopy(&t.matches[i]) != noCopy {
			copies++
		}
	}
	return copies, uint64(len(t.matches)) - copies
}

// Tried counts the packets that a further list of ignored fields makes equal to earlier packets.
type Tried struct {
	Ignore  []string `json:"ignore"`
	Packets uint64   `json:"compared"`   // the first packets of the stream
	Equal   uint64   `json:"equal"`      // of them, besides all that are equal with these fields
	Copies  uint64   `json:"duplicates"` // the copies of them
}

// tried reports the trials, and what m has of two others, which it compares without.
func (n *Inspector) tried(m *measure) []Tried {
	all := []Tried{}
	if n.trials.compared {
		all = append(all, Tried{[]string{"l4-checksum"}, n.stream.packets, m.checksums + m.resummed[windows-1][0], m.checksums})
		all = append(all, Tried{[]string{"mss"}, n.stream.packets, m.clamped, m.clamped})
	}
	for _, t := range n.trials.list {
		copies, others := t.count()
		if n.trials.compared {
			all = append(all, Tried{triedFields[t.number].ignore, t.reach(n.stream.packets), copies + others, copies})
		}
	}
	return all
}

// withTrial returns m with the matches of the trial that finds the most copies, the first of equal
// trials. It returns m if these are too few to ignore fields for.
func (n *Inspector) withTrial(m *measure) *measure {
	var best *trial
	most, measured := 0.0, min(n.stream.packets, 1<<allBits)
	for _, t := range n.trials.list {
		copies, others := t.count()
		if copies == 0 || float64(copies) < fewCopies*float64(measured) || copies <= 2*others {
			continue
		}
		if float64(copies) > (1+fewLate)*most {
			best, most = t, float64(copies)
		}
	}
	if best == nil || m.bytes > 0 { // trials compare whole packets only
		return m
	}
	return best.addTo(m, n.stream.packets, measured)
}

// addTo returns m with the matches, each for its part of all packets.
func (t *trial) addTo(m *measure, packets, measured uint64) *measure {
	m = m.clone()
	m.ignore = triedFields[t.number].ignore
	share := func(i int) uint64 { return uint64(float64(i) * float64(packets) / float64(measured)) }
	for i := range t.matches {
		m.addMatch(&t.matches[i], share(i+1)-share(i), t.isCopy(&t.matches[i]))
	}
	if m.relayed == 0 {
		m.outer = t.mappings.outer()
	}
	return m
}

// addMatch counts a match as weight packets.
func (m *measure) addMatch(x *match, weight uint64, is why) {
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
	span, kind := m.span(x.delay), x.kind
	switch is {
	case noCopy:
		c := &m.same.counts[addressedPacket][span]
		c.all += weight
		v.count(&c.removed, weight)
		m.same.note(x.proto, addressedPacket, span, weight, Example{
			Packet: uint64(x.number), Earlier: uint64(x.earlier), Delay: int64(x.delay), What: "the same between other addresses",
		})
		return
	case translatedCopy:
		kind |= natKind
		m.translated += weight
	case relayedCopy:
		kind |= relayKind
		m.relayed += weight
	}
	m.kinds[kind] += weight
	m.clamped += weight * count(kind&mssKind != 0)
	m.delayed[span] += weight
	m.foreign += weight * count(x.foreign)
	m.unmatched += weight * count(x.rewrapped)
	if x.step != 0 {
		m.hops[int(x.step)] += weight
	}
	m.matrix.add(&sighting{point: x.first, hops: uint8(max(x.step, 0))}, &sighting{point: x.copied, hops: uint8(max(-x.step, 0))}, x.delay, weight)
}
