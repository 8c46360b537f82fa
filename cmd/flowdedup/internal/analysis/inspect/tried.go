// SPDX-License-Identifier: Apache-2.0

package inspect

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

// Tried counts the packets that one more list of ignored fields makes equal to earlier ones.
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

// withTrial returns m with the matches of the trial that finds the most copies, of equal ones the
// first. It returns m if these are too few to ignore fields for.
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
