// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
)

// Batch holds the elements of a batch of packets on their way into a Counter. Several
// goroutines may fill one Batch each. A Batch keeps its memory from use to use.
//
// Before Count, the caller adds the elements of the keys in Direct for all packets. It
// adds those of the keys in Derived when Derive is called.
type Batch struct {
	// Derive adds the elements of the keys of group i of Derived that follow from some
	// elements of the implying key. v4 and v6 are the numbers of the latter in that key's
	// series V4 and V6. They take the place of packets, with a base of 0. Derive is called
	// within Count, for each element once at most, and never if Derived is empty.
	Derive func(i int, v4, v6 []uint32)
	// FirstSeen takes the elements that the window from start on had not seen: packet by
	// packet, and within a packet in the order of the keys. start is math.MinInt64 for
	// the whole stream. It is called within Count if Config.FirstSeen is set.
	FirstSeen func(start int64, first []FirstSeen) error

	counter   *Counter
	times     []int64
	counted   int // packets
	keys      []Elements
	implies   []bool // by key: its elements in a window imply others; never set with a past
	derived   []Group
	uncounted []uint64
	seen      []uint64
	first     []FirstSeen
	sorted    []FirstSeen // scratch
	numbers   []uint32    // of elements
}

// FirstSeen is an element that its window had not seen before.
type FirstSeen struct {
	Packet uint32 // packet number in the batch
	Key    int    // number in Config.Keys
	Series SeriesID
	Number int // of the element in its series
}

// SeriesID names a series of Elements.
type SeriesID int

// The series of Elements.
const (
	Addr4 SeriesID = iota
	V4
	V6
	MAC
)

// Group is the keys that another key implies.
type Group struct {
	By   int
	Keys []int
}

// NewBatch makes an empty batch.
func (c *Counter) NewBatch() *Batch {
	b := &Batch{counter: c, keys: make([]Elements, len(c.cfg.Keys)), implies: make([]bool, len(c.cfg.Keys))}
	for _, key := range c.direct {
		if others := c.impliedBy.others(key); len(others) > 0 {
			b.derived = append(b.derived, Group{key, others})
			b.implies[key] = c.past == nil
		}
	}
	return b
}

// Direct returns the keys whose elements the caller adds for all packets.
func (b *Batch) Direct() []int { return b.counter.direct }

// Derived returns the keys whose elements the caller adds when Derive asks for them.
func (b *Batch) Derived() []Group { return b.derived }

// Reset begins a batch of packets with the given times, in nanoseconds since 1970 UTC
// (math.MinInt64: none). Count reads them, so until then they may change.
func (b *Batch) Reset(times []int64) {
	b.times, b.counted = times, 0
	for i := range b.keys {
		b.keys[i].reset()
	}
}

// Elements returns the series to which the caller adds the elements of a key.
func (b *Batch) Elements(key int) *Elements { return &b.keys[key] }

// skip leaves out the elements of the packets before to.
func (b *Batch) skip(to uint32) {
	for i := range b.keys {
		b.keys[i].skip(to)
	}
}

// Elements are the elements of one key in a batch.
type Elements struct {
	Addr4       Series[uint32] // bare IPv4 addresses, the first octet in the top byte
	V4, V6, MAC Series[digest.Digest]
}

func (e *Elements) reset() {
	e.Addr4.reset()
	e.V4.reset()
	e.V6.reset()
	e.MAC.reset()
}

// skip passes over the elements of packets before to.
func (e *Elements) skip(to uint32) {
	e.Addr4.next(to)
	e.V4.next(to)
	e.V6.next(to)
	e.MAC.next(to)
}

// Series holds the elements of one family in the order of their packets.
type Series[E any] struct {
	items   []E
	packets []uint32 // of each element, ascending
	at      int      // the first element that next has not returned
	unseen  unseen
	picked  []E
}

func (s *Series[E]) reset() {
	s.items, s.packets, s.at = s.items[:0], s.packets[:0], 0
	s.unseen.reset()
}

// Add makes room for elements, and returns it for the caller to fill. Element i is of
// packet base+packets[i]; packets ascend.
func (s *Series[E]) Add(packets []uint32, base int) []E {
	n := len(s.items)
	s.items = slices.Grow(s.items, len(packets))[:n+len(packets)]
	s.packets = slices.Grow(s.packets, len(packets))[:n+len(packets)]
	numbers := s.packets[n:][:len(packets)]
	for i, p := range packets {
		numbers[i] = uint32(base) + p
	}
	return s.items[n:]
}

// Of returns the number of the only element of a packet, and the element itself. It
// returns nil if there is none.
func (s *Series[E]) Of(packet uint32) (number int, element []E) {
	n, found := slices.BinarySearch(s.packets, packet)
	if !found {
		return 0, nil
	}
	return n, s.items[n : n+1]
}

// Remove removes the elements of packets, of which each has one, and returns their numbers. Packets
// ascend.
func (s *Series[E]) Remove(packets []uint32) (numbers []int) {
	for _, p := range packets {
		if n, found := slices.BinarySearch(s.packets, p); found {
			numbers = append(numbers, n)
		}
	}
	s.items, s.packets = Without(s.items, numbers), Without(s.packets, numbers)
	return numbers
}

// Without removes elements from a list by their numbers, which ascend.
func Without[T any](list []T, numbers []int) []T {
	for i, n := range numbers {
		end := len(list)
		if i+1 < len(numbers) {
			end = numbers[i+1]
		}
		copy(list[n-i:], list[n+1:end])
	}
	return list[:len(list)-len(numbers)]
}

// next returns the next range of elements, of packets before to, that it has not yet
// returned.
func (s *Series[E]) next(to uint32) (from, end int) {
	from, end = s.upcoming(to)
	s.at = end
	return from, end
}

// upcoming returns the result of the coming call of next.
func (s *Series[E]) upcoming(to uint32) (from, end int) {
	from, end = s.at, len(s.packets)
	if end > from && s.packets[end-1] >= to {
		n, _ := slices.BinarySearch(s.packets[from:], to)
		end = from + n
	}
	return from, end
}

// pick returns elements by their numbers, until it is called again.
func (s *Series[E]) pick(numbers []uint32) []E {
	if n := len(numbers); n > 0 && int(numbers[n-1]-numbers[0]) == n-1 { // the numbers are consecutive
		return s.items[numbers[0]:][:n]
	}
	s.picked = slices.Grow(s.picked[:0], len(numbers))[:len(numbers)]
	for i, n := range numbers {
		s.picked[i] = s.items[n]
	}
	return s.picked
}

// countKey counts the elements of one key; with a past, only the unseen elements.
func (b *Batch) countKey(w *window, key int, to uint32) error {
	e, k, cfg := &b.keys[key], &w.keys[key], b.counter.cfg
	by := b.counter.impliedBy[key]
	f := seriesRun{
		key: key, to: to, implied: by >= 0 && by != key,
		firstSeen: cfg.FirstSeen && w != b.counter.total, implies: b.implies[key],
	}
	if err := countSeries(b, &k.addr4, cfg.newAddresses, &e.Addr4, f.of(Addr4)); err != nil {
		return err
	}
	for _, s := range [...]struct {
		id       SeriesID
		counter  *familyCounter[digest.Digest]
		elements *Series[digest.Digest]
	}{{V4, &k.v4, &e.V4}, {V6, &k.v6, &e.V6}, {MAC, &k.mac, &e.MAC}} {
		if err := countSeries(b, s.counter, cfg.newDigests, s.elements, f.of(s.id)); err != nil {
			return err
		}
	}
	return nil
}

// seriesRun is a part of a series that is counted at once.
type seriesRun struct {
	key int
	id  SeriesID
	to  uint32 // packets before it
	// firstSeen means that first sightings are to be reported.
	firstSeen bool
	implies   bool // its elements imply others, so the unseen elements are listed
	implied   bool // another key has its packet counts: see takePackets
}

func (r seriesRun) of(id SeriesID) seriesRun {
	r.id = id
	return r
}

func countSeries[E any](
	b *Batch, c *familyCounter[E], create func(memory int) (engine.Counter[E], error), e *Series[E], r seriesRun,
) error {
	from, end := e.next(r.to)
	if from == end {
		return nil
	}
	if c.Counter == nil {
		if err := c.begin(create, b.counter.budget.share()); err != nil {
			return err
		}
	}
	cfg, packets, items := b.counter.cfg, e.packets[from:end], e.items[from:end]
	if !r.implied {
		c.packets += packetsOf(packets, b.uncounted, cfg.Keys[r.key].PerPacket)
	}
	if e.unseen.valid && !r.implies {
		items = e.pick(e.unseen.within(from, end))
	}
	b.seen = resize(b.seen, (len(items)+63)/64)
	c.TestAndSet(b.seen, items)
	if r.implies {
		known := from + reliable(c.Counter, end-from)
		e.unseen.add(b.seen, from, known)
		e.unseen.addAll(known, end)
	}
	if r.firstSeen {
		b.addFirstSeen(packets, FirstSeen{Key: r.key, Series: r.id, Number: from})
	}
	return nil
}

// addFirstSeen records the elements whose bit in b.seen is clear. packets are the packets
// of all elements, and first describes the first packet.
func (b *Batch) addFirstSeen(packets []uint32, first FirstSeen) {
	b.numbers = appendUnset(b.numbers[:0], b.seen, len(packets))
	for _, i := range b.numbers {
		one := first
		one.Packet, one.Number = packets[i], first.Number+int(i)
		b.first = append(b.first, one)
	}
}

// emitFirstSeen reports the first sightings that countKey has recorded. Elements are
// counted key by key, but reported in the order of the stream, which does not depend on
// where batches end.
func (b *Batch) emitFirstSeen(w *window) error {
	if len(b.first) == 0 {
		return nil
	}
	b.sortFirst()
	start := w.start
	if w.whole {
		start = noTime // the start is not known before the end
	}
	err := b.FirstSeen(start, b.first)
	b.first = b.first[:0]
	return err
}

// sortFirst sorts the first sightings by packet, in a number of steps that is linear in the number
// of packets between them.
func (b *Batch) sortFirst() {
	low, high := b.first[0].Packet, b.first[0].Packet
	for i := range b.first {
		low, high = min(low, b.first[i].Packet), max(high, b.first[i].Packet)
	}
	b.numbers = resize(b.numbers, int(high-low)+2)
	clear(b.numbers)
	for i := range b.first {
		b.numbers[b.first[i].Packet-low+1]++
	}
	for i := range b.numbers[1:] {
		b.numbers[i+1] += b.numbers[i] // sightings of the packets up to low+i: the next packet's begin there
	}
	b.sorted = resize(b.sorted, len(b.first))
	for i := range b.first {
		place := &b.numbers[b.first[i].Packet-low]
		b.sorted[*place] = b.first[i]
		*place++
	}
	b.first, b.sorted = b.sorted, b.first
}

// maxPerPacket bounds the elements of a key in a packet.
const maxPerPacket = 2

// packetsOf counts the packets that elements come from, except the packets in uncounted.
// Equal packet numbers follow each other.
func packetsOf(packets []uint32, uncounted []uint64, perPacket int) uint64 {
	n := uint64(len(packets))
	if perPacket == 1 && uncounted == nil {
		return n
	}
	if first, last := packets[0], packets[n-1]; perPacket == 1 && uint64(last-first) == n-1 {
		return n - countBits(uncounted, first, last)
	}
	n = 0
	last := ^uint32(0) // no packet has this number
	for _, p := range packets {
		if p != last && (uncounted == nil || uncounted[p/64]>>(p%64)&1 == 0) {
			n++
		}
		last = p
	}
	return n
}

// countBits counts the bits from number first to number last.
func countBits(words []uint64, first, last uint32) (n uint64) {
	for w := first / 64; w <= last/64; w++ {
		word := words[w]
		if w == first/64 {
			word &= ^uint64(0) << (first % 64)
		}
		if w == last/64 {
			word &= ^uint64(0) >> (63 - last%64)
		}
		n += uint64(bits.OnesCount64(word))
	}
	return n
}

// appendUnset appends the numbers of the unset bits among the first n.
func appendUnset(numbers []uint32, words []uint64, n int) []uint32 {
	for w, word := range words {
		word = ^word
		if left := n - 64*w; left < 64 {
			word &= 1<<left - 1
		}
		for ; word != 0; word &= word - 1 {
			numbers = append(numbers, uint32(64*w+bits.TrailingZeros64(word)))
		}
	}
	return numbers
}

// resize returns s with n elements of any value.
func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
