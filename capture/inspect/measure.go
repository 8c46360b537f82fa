// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"maps"
	"math/bits"
	"net/netip"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// measure holds the measurements under one identity.
type measure struct {
	owner *Inspector
	table *packetTable
	bytes int // how many are compared, 0 for all

	equal                     uint64             // packets that equal one within the widest window
	removed                   [windows][2]uint64 // packets that a filter removes, anywhere and across
	delayed                   [windows]uint64    // copies by delay: up to each window, and above the one before
	foreign                   uint64             // copies at another capture point
	unmatched                 uint64             // copies that only identity inner finds
	checksums                 uint64             // copies with another checksum
	clamped                   uint64             // copies with another maximum segment size
	translated                uint64             // copies with translated addresses
	outer                     []netip.Addr       // of one side of the translations, if known
	sums                      checksums
	undecidable, checksumOnly uint64 // packets, and equal ones of them, in doubt
	kinds                     map[difference]uint64
	hops                      map[int]uint64 // copies by the hops between both
	matrix                    matrix
	same                      repeats
	paths                     paths
}

func newMeasure(n *Inspector) *measure {
	return &measure{
		owner: n, table: newTable(n.cfg.Memory/4*3, int64(n.cfg.Window)),
		kinds: map[difference]uint64{}, hops: map[int]uint64{}, matrix: newMatrix(int64(n.cfg.Window)), same: newRepeats(),
	}
}

// fork returns a measure that goes on with the counts, and compares the first bytes. It
// has nothing to compare with yet.
func (m *measure) fork(bytes int) *measure {
	f := m.clone()
	f.bytes = bytes
	f.table = newTable(m.owner.cfg.Memory/4, int64(m.owner.cfg.Window))
	return f
}

// clone returns a measure with the counts and the same table.
func (m *measure) clone() *measure {
	f := *m
	f.kinds, f.hops = maps.Clone(m.kinds), maps.Clone(m.hops)
	f.sums = slices.Clone(m.sums)
	f.matrix, f.same = m.matrix.clone(), m.same.clone()
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

// one measures one packet, and returns which filters remove it.
func (m *measure) one(d *digest.Digest, s *sighting, is doubt, b *capture.Batch, frame int) (v verdicts) {
	if is == unknown {
		m.undecidable += s.weight()
	}
	if s.time == calendar.NoTime || is == unknown {
		return v
	}
	m.table.several = m.table.several || s.device != 0
	e := m.table.find(d, s)
	if e == nil {
		e = m.table.add(d, s.time)
		e.restart(s)
		m.paths.add(e, s)
		return v
	}
	if is == checksumOnly {
		m.alike(e, s)
		return v
	}
	v = m.table.judge(e, s, &m.owner.windows)
	v.count(&m.removed, s.weight())
	// The sighting that a filter keeps may be an earlier one than that of the entry.
	if distance(s.time, e.time) <= uint64(m.owner.windows[windows-1]) {
		m.pair(e, s, v, b, frame)
	} else {
		m.table.restart(e, s)
	}
	m.paths.add(e, s)
	return v
}

// restart makes s the first sighting of its packet.
func (e *entry) restart(s *sighting) {
	e.sighting = *s
	e.seen[0], e.sightings, e.paths = s.manner(), 1, 0
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

// isSeen reports whether the packet was seen in a manner before, and remembers it.
func (e *entry) isSeen(manner uint16) bool {
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

// pair counts a packet that equals an earlier one.
func (m *measure) pair(e *entry, s *sighting, v verdicts, b *capture.Batch, frame int) {
	m.equal += s.weight()
	first, delay := &e.sighting, distance(s.time, e.time)
	span := m.span(delay)
	if first.full != s.full && !first.isPart(s) {
		m.same.add(alikePacket, first, s, span, v, b, frame)
		return
	}
	if first.renumbered(s) {
		m.same.add(renumberedPacket, first, s, span, v, b, frame)
		m.table.restart(e, s)
		return
	}
	if e.isSeen(s.manner()) && delay > uint64(m.owner.windows[0]) {
		m.same.add(s.sort(), first, s, span, v, b, frame)
		m.matrix.addSame(s, span, delay)
		m.table.restart(e, s)
		return
	}
	switch k := kindOf(first, s); {
	case k == 0:
		m.same.add(s.sort(), first, s, span, v, b, frame)
		m.matrix.addSame(s, span, delay)
	case s.time < first.time:
		m.copy(k, s, first, delay, s.weight())
	default:
		m.copy(k, first, s, delay, s.weight())
	}
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

// All packets of the first 2^18 are measured, then those whose digests have some bits 0: one
// of four of the next 2^18, and from there on one of 16. The sample has a packet and all its
// copies, or none of them, and each counts for the packets that it stands for. The sample
// depends only on the stream.
const (
	allBits  = 18 // log2 of how many packets are all measured
	maxLevel = 4  // log2 of the packets that one stands for, at last
)

// levelOf returns how many bits of a digest must be 0 for a packet, by its number from 1
// on.
func levelOf(number uint64) uint {
	return uint(min(2*max(bits.Len64(number-1)-allBits, 0), maxLevel))
}

// weight returns how many packets s stands for.
func (s *sighting) weight() uint64 { return 1 << levelOf(s.number) }
