// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"maps"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/capture/traits"
)

// Report has the results of an inspection. Equal packets are Copies and NotCopies.
type Report struct {
	Findings
	Doubts
	// Sampled is how many packets each measured packet stands for at the end of the stream. Above
	// 1, the counts of copies and points are estimates.
	Sampled uint64
	// Routers is how many routers lie between the points of most copies whose time to live
	// differs; 0 if there are none, or if it differs at random.
	Routers        int
	Recommendation Recommendation
	Window         time.Duration
	// Forgotten counts packets that made room for others within the window. Their copies
	// were missed.
	Forgotten uint64
	// Uncounted counts copies that are missing in the matrix, as there were too many points.
	Uncounted   uint64
	MemoryBytes int
}

// Findings are what a stream has. Their JSON form is part of the command line's contract.
type Findings struct {
	// Conclusion says whether the stream is duplicated, as far as that can be said.
	Conclusion Conclusion `json:"conclusion"`
	Packets    uint64     `json:"packets_in"`
	Copies     uint64     `json:"duplicates"`
	Share      float64    `json:"duplicate_share"` // of Copies among Packets
	// Equal counts packets that equal an earlier packet within the window, by the identity of the
	// recommendation.
	Equal uint64 `json:"equal"`
	// Kinds counts copies by their differences: the words vlan, mac, ttl, class, interface,
	// tunnel, truncated, checksum, padding, link, lan, nat, df, mss, relay and ip-id, joined by plus signs;
	// outer for nothing but the headers around a tunnel's packet, or identical.
	Kinds map[string]uint64 `json:"kinds"`
	// Hops counts copies by how much smaller their time to live is.
	Hops   map[int]uint64 `json:"ttl_steps"`
	Matrix []traits.Cell  `json:"matrix"`
	Delays []traits.Bin   `json:"delays"` // of the whole matrix
	// Points counts all packets by point.
	Points map[string]uint64 `json:"points"`
	// Paths has a row for each path of redundant networks, and none without them.
	Paths []PathCount `json:"paths"`
	// Checksums are the checksums of copies that differ in something, by point.
	Checksums map[string]Checksums `json:"checksums"`
	// NotCopies counts the equal packets that were sent again or are in Loops, by protocol, and
	// Examples has an example of each.
	NotCopies map[string]uint64  `json:"not_copies"`
	Examples  map[string]Example `json:"examples"`
	// Loops are the loops and storms, the largest first. Looped counts the equal packets in them.
	Loops  []Loop `json:"loops"`
	Looped uint64 `json:"looped"`
	// Conversations are sampled from the first 2^18 packets. Of the SampledConversations, removing
	// copies would tear SplitConversations apart.
	SplitConversations   uint64   `json:"split_conversations"`
	SampledConversations uint64   `json:"sampled_conversations"`
	Sides                OneSided `json:"one_sided"`
	// Tried has the results of leaving out more fields, none without Translations or without IP.
	Tried []Tried `json:"tried"`
}

// Doubts count packets of which too little is known.
type Doubts struct {
	NonIP uint64 `json:"non_ip"`
	// Unopened counts frames and tunnels that were not opened: see headers.Unopened. It is nil
	// without any.
	Unopened  map[string]uint64 `json:"unopened,omitempty"`
	Truncated uint64            `json:"truncated"`
	NoTime    uint64            `json:"no_timestamp"`
	// Undecidable counts packets that cannot be distinguished from others, because too little
	// of them was captured or is compared: they are compared with none. ChecksumOnly counts
	// equal packets that are known only by a checksum of 16 bits. They are not among Equal.
	Undecidable  uint64 `json:"undecidable"`
	ChecksumOnly uint64 `json:"checksum_only"`
}

// Report returns the results so far. It takes time linear in the size of the report, and in the number of
// translated packets.
func (n *Inspector) Report() *Report {
	m := n.measured()
	m = n.withTrial(m)
	j := n.judge(m)
	r := &Report{
		Sampled: 1 << levelOf(max(n.stream.packets, 1)), Routers: m.matrix.routers(), Window: n.cfg.Window,
		Findings: Findings{
			Packets: n.stream.packets, Equal: m.equal, Kinds: map[string]uint64{}, Hops: m.hopCounts(), Points: n.atPoints(),
			Paths: m.paths.report(), Checksums: m.sums.report(n.points.Name), Sides: n.oneSided(),
		},
		Doubts: Doubts{
			NonIP: n.stream.nonIP, Unopened: n.stream.unopened.ByName(), Truncated: n.stream.truncated, NoTime: n.stream.noTime,
			Undecidable: m.undecidable, ChecksumOnly: m.checksumOnly,
		},
		Forgotten: m.table.forgotten, Uncounted: m.matrix.lost + m.same.lost, MemoryBytes: n.whole.table.bytes(),
	}
	r.NotCopies, r.Examples = m.same.report(j.isCopy)
	r.Matrix, r.Delays = m.matrix.report(n.points, j.isCopy)
	if n.prefix != nil {
		r.MemoryBytes += n.prefix.table.bytes()
	}
	for k, count := range m.kinds {
		if count == 0 {
			continue // all of them were in loops
		}
		r.Kinds[k.String()] += count
		r.Copies += count
	}
	same, rewrapped := j.copies()
	if same > rewrapped {
		r.Kinds[difference(0).String()] = same - rewrapped
	}
	if rewrapped > 0 {
		r.Kinds["outer"] = rewrapped
	}
	r.Copies += same
	if r.Packets > 0 {
		r.Share = float64(r.Copies) / float64(r.Packets)
	}
	c := n.split.Counts()
	r.SplitConversations, r.SampledConversations = c.Split, c.Sampled
	r.Loops, r.Looped = m.loops.report(), m.same.all(loopedPacket)
	r.Tried = n.tried(m)
	r.Recommendation = n.recommend(m, j, r)
	r.Conclusion = r.conclude()
	return r
}

// oneSided reports the sides of flows, and which headers make them one-sided.
func (n *Inspector) oneSided() OneSided {
	o := n.sides.report()
	o.Strip = []string{}
	if o.BeforeByTag.Share() > o.Before.Share() {
		if n.stream.tagged > 0 {
			o.Strip = append(o.Strip, "vlan")
		}
		if n.stream.tunneled > 0 {
			o.Strip = append(o.Strip, "tunnel")
		}
	}
	return o
}

// fewParts is the share of equal packets that may differ in how much was captured. Few do by
// chance, since a fragment may look like a packet that was captured in part.
const fewParts = 0.05

// measured returns the results under the identity that finds the copies.
func (n *Inspector) measured() *measure {
	if n.prefix == nil {
		return n.whole
	}
	var parts uint64
	for k, count := range n.prefix.kinds {
		if k&truncatedKind != 0 {
			parts += count
		}
	}
	if float64(parts) <= fewParts*float64(n.prefix.equal) {
		return n.whole
	}
	return n.prefix
}

// hopCounts counts copies by their hops.
func (m *measure) hopCounts() map[int]uint64 {
	all := maps.Clone(m.hops)
	maps.DeleteFunc(all, func(_ int, count uint64) bool { return count == 0 })
	return all
}

// atPoints counts all packets by point.
func (n *Inspector) atPoints() map[string]uint64 {
	all := map[string]uint64{}
	for i, count := range n.packets {
		if count > 0 {
			all[n.points.Name(uint32(i))] += count
		}
	}
	return all
}

// report counts the equal packets of each protocol that are no copies, and returns the first of each.
func (r *repeats) report(isCopy func(sort, span int) bool) (counts map[string]uint64, examples map[string]Example) {
	counts, examples = map[string]uint64{}, map[string]Example{}
	for _, key := range slices.SortedFunc(maps.Keys(r.protocols), compareProtocols) {
		p, name := r.protocols[key], key.String()
		for sort := range p.counts {
			for span, count := range p.counts[sort] {
				if count == 0 || isCopy(sort, span) {
					continue
				}
				counts[name] += count
				if e := p.examples[sort][span]; examples[name].Packet == 0 || e.Packet < examples[name].Packet {
					examples[name] = e
				}
			}
		}
	}
	return counts, examples
}

// judgement says which packets are copies that do not differ from an earlier packet.
type judgement struct {
	same  *[sorts][windows]sameCounts
	reach [sorts]int // number of the first windows that copies lie within
}

// A feed that delivers packets twice does so with many of them.
const (
	// fewNumbered is the share of numbered packets that come again without being copied.
	fewNumbered = 0.01
	// fewOthers is the same for all other packets, which senders repeat more often.
	fewOthers = 0.4
	// fewAny is how many packets are too few to say so, unless they come within the first
	// window.
	fewAny = 10
)

// judge decides. A numbered packet that comes again within the first window is a copy,
// since its sender would have given it a new number. Other packets are copies only if more of them
// come again than senders repeat.
func (n *Inspector) judge(m *measure) *judgement {
	j := &judgement{same: &m.same.counts}
	numbered := j.same[numberedPacket]
	j.reach[numberedPacket] = 1
	for span := range windows {
		if all := float64(numbered[span].all); all < fewNumbered*float64(n.stream.numbered) || all < fewAny && span > 0 || all == 0 {
			continue
		}
		j.reach[numberedPacket], j.reach[unnumberedPacket] = span+1, span+1
	}
	others := &j.same[unnumberedPacket][0]
	if j.reach[unnumberedPacket] == 0 && others.all > 0 && float64(others.all) >= fewOthers*float64(n.stream.others) {
		j.reach[unnumberedPacket] = 1
	}
	return j
}

func (j *judgement) isCopy(sort, span int) bool { return span < j.reach[sort] }

// copies counts the copies among packets that differ in nothing, and among these the copies that only
// identity inner finds.
func (j *judgement) copies() (all, rewrapped uint64) {
	for sort := range j.same {
		for span := range j.same[sort] {
			if j.isCopy(sort, span) {
				all += j.same[sort][span].all
				rewrapped += j.same[sort][span].rewrapped
			}
		}
	}
	return all, rewrapped
}

// looped counts the packets in loops that a filter with a window removes.
func (j *judgement) looped(w, across int) (sum uint64) {
	for span := range j.same[loopedPacket] {
		sum += j.same[loopedPacket][span].removed[w][across]
	}
	return sum
}

// wrong counts the packets that a filter with a window removes although they are no copies.
func (j *judgement) wrong(w, across int) (sum uint64) {
	for sort := range j.same {
		for span := range j.same[sort] {
			if !j.isCopy(sort, span) {
				sum += j.same[sort][span].removed[w][across]
			}
		}
	}
	return sum
}

// Conclusion says in a word what an inspection has found.
type Conclusion string

// The conclusions.
const (
	NoPackets  Conclusion = "no-packets"
	Copies     Conclusion = "copies"      // worth to be removed
	NoCopies   Conclusion = "no-copies"   // or hardly any
	Loops      Conclusion = "loop"        // no copies, but packets that a network repeats
	CannotTell Conclusion = "cannot-tell" // copies of most packets would not have been found
)

// fewAlike is the share of packets that may equal others by their checksums only.
const fewAlike = 0.05

// conclude needs all of r but the conclusion.
func (r *Report) conclude() Conclusion {
	switch {
	case r.Packets == 0:
		return NoPackets
	case r.Recommendation.Dedup:
		return Copies
	case 2*r.untold() > r.Packets, float64(r.ChecksumOnly) > fewAlike*float64(r.Packets):
		return CannotTell
	case r.Looped > 0:
		return Loops
	}
	return NoCopies
}

// untold counts the packets whose copies are not found, or only if they differ in nothing: not
// opened, truncated too short, or without a time.
func (r *Report) untold() uint64 {
	sum := r.NoTime + r.Undecidable
	for _, n := range r.Unopened {
		sum += n
	}
	return min(sum, r.Packets)
}
