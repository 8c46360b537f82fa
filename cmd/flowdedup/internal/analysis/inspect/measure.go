// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"maps"
	"math/bits"
	"net/netip"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// measure holds the measurements under one identity.
type measure struct {
	owner *Inspector
	table *packetTable
	bytes int // how many are compared, 0 for all

	equal                     uint64             // packets that equal an earlier packet within the widest window
	removed                   [windows][2]uint64 // packets that a filter removes, anywhere and across
	delayed                   [windows]uint64    // copies by delay: up to each window, and above the window before
	foreign                   uint64             // copies at another capture point
	unmatched                 uint64             // copies that only identity inner finds
	checksums                 uint64             // copies whose checksum differs
	resummed                  [windows][2]uint64 // other packets that a filter removes that ignores checksums, too
	clamped                   uint64             // copies whose maximum segment size differs
	translated, relayed       uint64             // copies with translated addresses, and other copies of a trial
	ignore                    []string           // the fields of the trial that has found copies
	outer                     []netip.Addr       // of one side of the translations, if known
	sums                      checksums
	undecidable, checksumOnly uint64             // packets in doubt, and equal packets known only by a checksum
	doubtful                  [windows][2]uint64 // packets in doubt that a filter removes
	kinds                     map[difference]uint64
	hops                      map[int]uint64 // copies by the hops between both
	matrix                    matrix
	same                      repeats
	paths                     paths
	trail                     trail
	loops                     loops
}

func newMeasure(n *Inspector, memory, bytes int) *measure {
	return &measure{
		owner: n, bytes: bytes, table: newTable(memory, bytes, int64(n.cfg.Window)),
		kinds: map[difference]uint64{}, hops: map[int]uint64{}, matrix: newMatrix(int64(n.cfg.Window)), same: newRepeats(), loops: loops{numbers: map[string]int{}},
	}
}

// fork returns a measure that goes on with the counts, and compares the first bytes. It
// has nothing to compare with yet.
func (m *measure) fork(bytes int) *measure {
	f := m.clone()
	f.bytes = bytes
	f.table, f.trail = newTable(m.owner.cfg.Memory/4, bytes, int64(m.owner.cfg.Window)), trail{}
	return f
}

// clone returns a measure with the counts and the same table.
func (m *measure) clone() *measure {
	f := *m
	f.kinds, f.hops = maps.Clone(m.kinds), maps.Clone(m.hops)
	f.sums = slices.Clone(m.sums)
	f.matrix, f.same, f.loops = m.matrix.clone(), m.same.clone(), m.loops.clone()
	return &f
}

// group is how many lookups are prepared at a time.
const group = 32

// add measures the elements of p from number from to end-1, which are frames of b. digests and
// doubts have theirs. If drops is set, it notes the verdicts in p, and the elements that a filter
// with the widest window removes.
func (m *measure) add(p *Batch, digests []digest.Digest, doubts []doubt, from, end int, drops bool, b *capture.Batch) {
	for ; from < end; from += group {
		to := min(from+group, end)
		m.table.warm(digests[from:to], p.seen[from:to])
		for i := from; i < to; i++ {
			frame := int(p.frames[i])
			v := m.one(&digests[i], &p.seen[i], doubts[i], b, frame)
			if !drops {
				continue
			}
			p.verdicts = append(p.verdicts, v)
			if v.anywhere>>(windows-1) != 0 {
				p.drop[frame/64] |= 1 << (frame % 64)
			}
		}
	}
}

// one measures a packet, and returns which filters remove it.
func (m *measure) one(d *digest.Digest, s *sighting, is doubt, b *capture.Batch, frame int) (v verdicts) {
	if is == unknown {
		m.undecidable += s.weight()
		d = &digest.Digest{d[0], ^d[1]} // equal to none that is known
	}
	if s.time == calendar.NoTime {
		return v
	}
	m.table.several = m.table.several || s.device != 0
	e := m.table.find(d, s)
	if e == nil {
		e = m.table.add(d, s.time)
		e.restart(s)
		if is != unknown {
			m.resum(m.table.other, s)
			m.paths.add(e, s)
		}
		return v
	}
	if is != known {
		m.alike(e, s, is)
		return v
	}
	v = m.table.judge(e, s, &m.owner.windows)
	v.count(&m.removed, s.weight())
	// The sighting that a filter keeps may be earlier than the sighting of the entry.
	if distance(s.time, e.time) <= uint64(m.owner.windows[windows-1]) {
		m.pair(e, s, v, b, frame)
	} else {
		m.missed(e, s)
		m.table.restart(e, s)
	}
	m.paths.add(e, s)
	return v
}

// resum counts s, if it equals the packet of an entry but for a checksum that no card has left out.
func (m *measure) resum(e *entry, s *sighting) {
	if e == nil {
		return
	}
	var v verdicts
	delay := distance(s.time, e.time)
	better := s.flags&unfit == 0 && e.flags&unfit != 0
	for w, span := range m.owner.windows {
		if delay <= uint64(span) {
			v.anywhere |= uint8(count(!better || delay <= hold)) << w
			v.across |= uint8(count(s.device != e.device)) << w
		}
	}
	v.count(&m.resummed, s.weight())
}

// restart makes s the first sighting of its packet.
func (e *entry) restart(s *sighting) {
	e.sighting = *s
	e.sightings, e.paths = 0, 0
}

// manner returns a hash of how a packet was seen. A packet that is seen in the same manner
// again, later than a copy would be, was sent again.
func (s *sighting) manner() uint16 {
	h := traits.Mix(uint64(s.point), uint64(s.vlan)<<32|uint64(s.mac))
	h = traits.Mix(h, uint64(s.labels)<<32|uint64(s.behind)+uint64(s.encap))
	h = traits.Mix(h, uint64(s.bytes)<<32|uint64(s.checksum)<<16|uint64(s.hops)<<8|uint64(s.class))
	h = traits.Mix(h, uint64(s.mss)<<1|count(s.flags&dontFragment != 0))
	return uint16(h >> 48)
}

// isSeen reports whether the packet was seen in a manner before, and remembers it. Most packets have no
// copy, so the manner of the first sighting waits until it is asked for.
func (e *entry) isSeen(manner uint16) bool {
	if e.sightings == 0 {
		e.seen[0], e.sightings = e.manner(), 1
	}
	n := min(int(e.sightings), len(e.seen))
	for _, m := range e.seen[:n] {
		if m == manner {
			return true
		}
	}
	if n < len(e.seen) {
		e.seen[n] = manner
		e.sightings++
	}
	return false
}

// pair counts a packet that equals an earlier packet.
func (m *measure) pair(e *entry, s *sighting, v verdicts, b *capture.Batch, frame int) {
	m.equal += s.weight()
	first, delay := &e.sighting, distance(s.time, e.time)
	x, previous := m.trail.add(e)
	x.describe(first, s, delay, v)
	x.span = int8(m.span(delay))
	restart := false
	switch {
	case first.full != s.full && !first.isPart(s), first.sumEnd == s.sumEnd && !first.equals(s):
		x.sort = alikePacket
	case first.renumbered(s):
		x.sort, restart = renumberedPacket, true
	case e.isSeen(s.manner()) && delay > uint64(m.owner.windows[0]):
		x.sort, restart = s.sort(), true
	default:
		if x.kind = kindOf(first, s); x.kind != 0 {
			x.sort = aCopy
		} else {
			x.sort = s.sort()
		}
	}
	m.count(x, first, s, b, frame)
	m.loopsIn(x, previous, s, b, frame)
	if restart {
		m.table.restart(e, s)
	}
}

// count counts x, the event of frame i of b: s, which equals first.
func (m *measure) count(x *event, first, s *sighting, b *capture.Batch, i int) {
	x.proto = protocolKey{proto: s.proto}
	if s.proto == headers.NonIP {
		x.proto.ether = etherType(b.Data(i))
	}
	if x.sort != aCopy {
		m.same.add(x, s.weight(), whatIs(x.sort, s))
		if x.sort < timedSorts {
			m.matrix.addSame(x, s.weight())
		}
		return
	}
	if s.time < first.time {
		first, s = s, first
	}
	m.copy(x.kind, first, s, x.delay, uint64(x.weight))
}

// copy counts, as weight packets, a packet that differs from its original as no sender makes
// it differ. first is the earlier of the two.
func (m *measure) copy(k difference, first, copied *sighting, delay, weight uint64) {
	m.kinds[k] += weight
	m.delayed[m.span(delay)] += weight
	if first.device != copied.device {
		m.foreign += weight
	}
	if first.isRewrapped(copied) {
		m.unmatched += weight
	}
	if k&checksumKind != 0 {
		m.checksums += weight
	}
	m.clamped += weight * count(k&mssKind != 0)
	if k&ttlKind != 0 {
		m.hops[int(first.hops)-int(copied.hops)] += weight
	}
	m.sums.add(first, copied, weight)
	m.matrix.add(first, copied, delay, weight)
}

// span returns the number of the first window that a delay fits in. It is at most the widest
// window, or the earlier sighting would lie further back.
func (m *measure) span(delay uint64) int {
	for w, span := range m.owner.windows {
		if delay <= uint64(span) {
			return w
		}
	}
	return windows - 1
}

// The first 2^18 packets are all measured. Then packets count whose digests have some bits 0: one in
// four of the next 2^18, and one in 16 from there on. The sample has a packet and all its
// copies, or none of them, and each counts for the packets that it stands for. The sample
// depends only on the stream.
const (
	allBits  = 18 // log2 of how many packets are all measured
	maxLevel = 4  // log2 of the packets that a measured packet stands for, at last
)

// levelOf returns how many bits of a digest must be 0 for a packet, by its number from 1
// on.
func levelOf(number uint64) uint {
	return uint(min(2*max(bits.Len64(number-1)-allBits, 0), maxLevel))
}

// weight returns how many packets s stands for.
func (s *sighting) weight() uint64 { return 1 << levelOf(s.number) }
