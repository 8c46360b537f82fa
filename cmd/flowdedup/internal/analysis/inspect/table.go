// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"errors"
	"math"
	"math/bits"
	"slices"
	"time"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// windows is how many windows are measured at once.
const windows = 4

// history records which of equal packets filters would keep: filters that find copies anywhere,
// and filters that find them only at other capture points.
type history struct {
	anywhere, across [windows]int64 // when
	device           [windows]uint32
	unfit            uint8 // a bit for each window: the packet kept anywhere is unfit
}

func newHistory(s *sighting) (h history) {
	for w := range windows {
		h.anywhere[w], h.across[w], h.device[w] = s.time, s.time, s.device
	}
	if s.flags&unfit != 0 {
		h.unfit = allWindows
	}
	return h
}

// entry holds the sightings of equal packets.
type entry struct {
	sighting            // the first since the packet was last sent again
	hash      uint32    // the upper half of digest[0]
	lastOf    uint32    // the lower half of the check that last is of
	check     uint64    // digest[1]
	seen      [4]uint16 // hashes of how the packet was seen since then
	history   uint32    // its number, from 1 on; without, all filters have kept the sighting
	sightings uint8
	paths     uint8  // a bit for each class of paths on which it came
	last      uint16 // its event in the trail
}

// head holds the searched fields of a set in one cache line.
type head struct {
	tags [ways]uint32 // 0 for none
	// latest is when a packet was seen last, in ticks.
	latest [ways]uint32
}

const (
	ways      = 8
	tickBits  = 20 // a tick is about a millisecond
	minSets   = 1 << 10
	headBytes = int(unsafe.Sizeof(head{}) + unsafe.Sizeof(places{}))
	slotBytes = headBytes/ways + int(unsafe.Sizeof(entry{}))
	// historyEvery is the number of packets for each history. Few packets need a history.
	historyEvery = 2
	setBytes     = ways * (slotBytes + int(unsafe.Sizeof(history{}))/historyEvery)
)

// places has the numbers of the entries of a set.
type places [ways]uint32

// packetTable remembers packets by digest: sets of eight, whose oldest packet makes room for a
// new packet. It grows where that packet is still within the window, up to a limit. Entries lie in
// the order in which they came first, so growth moves none, and sets that are not full take no
// memory for the rest.
type packetTable struct {
	heads     []head
	places    []places
	entries   pool
	histories []history
	free      []uint32 // numbers of histories
	shift     int      // of a digest, for the number of its set
	most      int      // sets
	span      uint32   // the window in ticks
	// forgotten counts packets that had to make room within their window.
	forgotten uint64
	several   bool // capture points, so that across means something
	compared  int  // bytes; checksums behind them are not compared
	// other is the latest entry that equalled the last packet that was looked for but for a checksum, or nil.
	other   *entry
	memory  arenas // of heads and places
	touched uint32 // the OR of warm's reads, so that no compiler leaves them out
}

// newTable makes a table that grows to memory bytes, and to a mebibyte in any case. The first bytes of
// packets are compared, all for 0.
func newTable(memory, bytes int, window int64) *packetTable {
	t := &packetTable{compared: cmp.Or(bytes, math.MaxInt), span: uint32(min(window>>tickBits+1, math.MaxInt32)), most: minSets}
	for t.most*2*setBytes <= memory {
		t.most *= 2
	}
	t.resize(minSets)
	return t
}

// resize gives the table empty sets.
func (t *packetTable) resize(sets int) {
	t.heads = memoryOf[head](&t.memory, sets)
	t.places = memoryOf[places](&t.memory, sets)
	t.shift = 64 - bits.TrailingZeros(uint(sets))
}

// close gives the memory back.
func (t *packetTable) close() error { return errors.Join(t.memory.close(), t.entries.close()) }

// bytes returns the memory of the table.
func (t *packetTable) bytes() int {
	return len(t.heads)*headBytes + t.entries.bytes() + cap(t.histories)*int(unsafe.Sizeof(history{}))
}

// warm touches the memory that the lookups of at most group packets will touch. These loads
// overlap, while lookups wait for each of them: with warm a packet takes half the time. Entries
// are touched by a loop that does nothing else: a CPU looks only a few hundred instructions ahead.
func (t *packetTable) warm(d []digest.Digest, seen []sighting) {
	touched := uint32(0)
	for i := range d {
		set := d[i][0] >> t.shift
		touched |= t.heads[set].tags[0] | t.places[set][0]
	}
	var all [group]uint32
	numbers := all[:0]
	for i := range d {
		set := d[i][0] >> t.shift
		h := &t.heads[set]
		at := slices.Index(h.tags[:], tagOf(d[i][0]))
		if at < 0 {
			if h.tags[ways-1] == 0 { // a new entry
				continue
			}
			at, _ = h.victim(ticks(seen[i].time))
		}
		numbers = append(numbers, t.places[set][at])
	}
	for _, number := range numbers {
		e := t.entries.at(number)
		touched |= e.history | uint32(e.number)
	}
	t.touched |= touched
}

// victim returns the packet of a set that makes room for a new packet, and how many ticks ago it was
// seen. A set fills from the front. Nobody can predict which packet of a full set is the oldest, so the
// search has no branches.
func (h *head) victim(now uint32) (at int, age uint32) {
	if h.tags[ways-1] == 0 {
		return slices.Index(h.tags[:], 0), math.MaxUint32
	}
	oldest := uint64(0)
	for i, latest := range &h.latest {
		// After time went back, entries ahead of it are as old as entries behind it.
		a := int32(now - latest)
		oldest = max(oldest, uint64(uint32(max(a, -a)))<<3|uint64(ways-1-i)) // of equal ones the first
	}
	return ways - 1 - int(oldest&(ways-1)), uint32(oldest >> 3)
}

func ticks(time int64) uint32 { return uint32(time >> tickBits) }

// tagOf returns the part of a digest that is compared first.
func tagOf(hash uint64) uint32 { return uint32(hash) | 1 }

// find returns the entry of packets equal to s, or nil.
func (t *packetTable) find(d *digest.Digest, s *sighting) *entry {
	set, tag := d[0]>>t.shift, tagOf(d[0])
	h := &t.heads[set]
	t.other = nil
	for i, is := range &h.tags {
		if is != tag {
			continue
		}
		e := t.entries.at(t.places[set][i])
		if e.check != d[1] {
			continue
		}
		if t.other == nil || t.other.number < e.number { // the places of a set depend on the key of the run
			t.other = e
		}
		if s.equals(&e.sighting) || int(max(s.sumEnd, e.sumEnd)) > t.compared {
			if now := ticks(s.time); int32(now-h.latest[i]) > 0 {
				h.latest[i] = now
			}
			return e
		}
	}
	return nil
}

// equals reports whether the checksums of two packets with equal digests fit the same packet: they may
// differ if a network card was to fill one in, or if they cover different maximum segment sizes.
func (s *sighting) equals(o *sighting) bool {
	return s.checksum == o.checksum || (s.flags|o.flags)&unfilled != 0 || s.isClamped(o)
}

// isClamped reports whether both state a maximum segment size, and not the same.
func (s *sighting) isClamped(o *sighting) bool { return s.mss != o.mss && s.mss != 0 && o.mss != 0 }

// isPart reports whether one of two packets that begin alike may be the truncated form of the
// other.
func (s *sighting) isPart(o *sighting) bool {
	return s.bytes < o.bytes && s.flags&truncated != 0 || o.bytes < s.bytes && o.flags&truncated != 0
}

// add returns room for packets that are new.
func (t *packetTable) add(d *digest.Digest, time int64) *entry {
	set, now := d[0]>>t.shift, ticks(time)
	h := &t.heads[set]
	victim, age := h.victim(now)
	if age <= t.span {
		// Packets that differ only in their checksums share a set however large the table is.
		if len(t.heads) < t.most && h.same(tagOf(d[0])) < ways/2 {
			t.grow()
			return t.add(d, time)
		}
		t.forgotten++
	}
	if h.tags[victim] == 0 {
		t.places[set][victim] = t.entries.add()
	}
	e := t.entries.at(t.places[set][victim])
	t.forget(e)
	h.tags[victim], h.latest[victim] = tagOf(d[0]), now
	e.hash, e.check = uint32(d[0]>>32), d[1]
	return e
}

// same counts the packets with a tag.
func (h *head) same(tag uint32) (n int) {
	for _, is := range &h.tags {
		if is == tag {
			n++
		}
	}
	return n
}

// grow makes four sets of each, or two at the limit.
func (t *packetTable) grow() {
	heads, numbers, old := t.heads, t.places, t.memory
	t.memory = nil
	t.resize(min(4*len(heads), t.most))
	for set := range heads {
		var n [4]int
		h := &heads[set]
		for i, tag := range &h.tags {
			if tag == 0 {
				continue
			}
			number := numbers[set][i]
			to := uint64(t.entries.at(number).hash) << 32 >> t.shift
			at := &n[to&3]
			t.heads[to].tags[*at], t.heads[to].latest[*at] = tag, h.latest[i]
			t.places[to][*at] = number
			*at++
		}
	}
	_ = old.close() // memory that stays is only lost
}

// forget gives the history of an entry back.
func (t *packetTable) forget(e *entry) {
	if e.history != 0 {
		t.free = append(t.free, e.history)
		e.history = 0
	}
}

// past returns the history of an entry, or nil if there is no room for it.
func (t *packetTable) past(e *entry) *history {
	if e.history == 0 {
		switch {
		case len(t.free) > 0:
			e.history = t.free[len(t.free)-1]
			t.free = t.free[:len(t.free)-1]
		case len(t.histories) < t.most*ways/historyEvery:
			t.histories = append(t.histories, history{})
			e.history = uint32(len(t.histories))
		default:
			t.forgotten++
			return nil
		}
		t.histories[e.history-1] = newHistory(&e.sighting)
	}
	return &t.histories[e.history-1]
}

// verdicts has a bit for each window in which a packet is removed.
type verdicts struct{ anywhere, across uint8 }

// count adds a packet that stands for weight packets.
func (v verdicts) count(removed *[windows][2]uint64, weight uint64) {
	for w := range removed {
		removed[w][0] += weight * uint64(v.anywhere>>w&1)
		removed[w][1] += weight * uint64(v.across>>w&1)
	}
}

const allWindows = 1<<windows - 1

// hold is how long filters wait by default for a fit packet that replaces an unfit packet.
// Beyond it, both stay.
const hold = uint64(10 * time.Millisecond)

// judge says which filters remove s, and remembers which packets they keep.
func (t *packetTable) judge(e *entry, s *sighting, spans *[windows]int64) (v verdicts) {
	fit := s.flags&unfit == 0
	if e.history == 0 && (!fit || e.flags&unfit == 0) && (s.device != e.device || !t.several) && distance(s.time, e.time) <= uint64(spans[0]) {
		v.anywhere = allWindows // and nothing is kept
		if t.several {
			v.across = allWindows
		}
		return v
	}
	h := t.past(e)
	if h == nil {
		one := newHistory(&e.sighting)
		h = &one
	}
	for w, span := range spans {
		bit, delay := uint8(1)<<w, distance(s.time, h.anywhere[w])
		better := fit && h.unfit&bit != 0
		removed := delay <= uint64(span) && !(better && delay > hold)
		if removed {
			v.anywhere |= bit
		}
		if better || !removed {
			h.anywhere[w], h.unfit = s.time, h.unfit&^bit
			if !fit {
				h.unfit |= bit
			}
		}
		if s.device != h.device[w] && distance(s.time, h.across[w]) <= uint64(span) {
			v.across |= 1 << w
		} else {
			h.across[w], h.device[w] = s.time, s.device
		}
	}
	return v
}

// restart makes s the first sighting of its packet. The packets that filters have kept stay
// remembered.
func (t *packetTable) restart(e *entry, s *sighting) {
	t.past(e)
	e.restart(s)
}

// distance returns the absolute difference of two times.
func distance(a, b int64) uint64 {
	if a < b {
		a, b = b, a
	}
	return uint64(a) - uint64(b)
}
