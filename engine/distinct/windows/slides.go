// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/sliding"
)

// MaxSlides bounds the slides of a window.
const MaxSlides = 4096

// slides counts the keys of a stream in windows that slide: at each multiple of the
// slide, counted from 1970 UTC in the time of packets, over the window before it.
//
// Counts are emitted when the first packet of a later slide comes. A later packet of the
// same slide is missing from them, and counts as late; later windows that hold its time
// include it. A packet whose time is more than a window away from the latest time is an
// outlier. It is quarantined until the clock believes it, as one wrong clock must not end
// all windows.
type slides struct {
	cfg        *Config
	emitCounts func(start, end int64, counts []Count) error
	addresses  *sliding.Addresses
	window     int64
	slide      int64
	keys       []slidingKey
	packets    slidePackets // all of them
	clock      calendar.Clock
	quarantine []quarantinedPacket // in quarantine
	started    bool
	next       int64  // when the next counts are due
	latest     int64  // time in the windows
	seen       extent // of the packets in windows
	late       uint64
	err        error

	digests []digest.Digest // scratch
	times   []int64
}

func newSlides(cfg *Config, out func(start, end int64, counts []Count) error) *slides {
	s := &slides{
		cfg: cfg, emitCounts: out, addresses: sliding.NewAddresses(cfg.Secret.AESKey(engine.UsePermutation)),
		window: int64(cfg.Window), slide: int64(cfg.Slide), keys: make([]slidingKey, len(cfg.Keys)),
		seen: noExtent, clock: calendar.Clock{Ahead: cfg.Window, Behind: cfg.Window},
	}
	s.packets.bySlide = make([]uint64, s.window/s.slide)
	return s
}

// count counts the packets at to to-1 of a batch, in the order of the stream.
func (s *slides) count(b *Batch, at, to int) error {
	for at < to && s.err == nil {
		n := s.leading(b.times[at:to])
		if n > 0 {
			s.add(b, at, at+n)
		} else {
			n = 1
			s.observe(b, at)
		}
		at += n
	}
	return s.err
}

// leading returns how many packets at the beginning of times belong to the current slide,
// and moves the clock.
func (s *slides) leading(times []int64) (n int) {
	if !s.started || len(s.quarantine) > 0 {
		return 0
	}
	for n < len(times) && uint64(times[n])-uint64(s.next-s.slide) < uint64(s.slide) {
		s.latest = max(s.latest, times[n])
		n++
	}
	if n > 0 {
		s.clock.Pass(s.latest)
	}
	return n
}

// observe takes a packet whose time may move the clock.
func (s *slides) observe(b *Batch, at int) {
	t := b.times[at]
	if !calendar.InRange(t) {
		s.late++
		b.skip(uint32(at + 1))
		return
	}
	verdict, dropped := s.clock.Observe(t)
	if dropped > 0 {
		s.late += uint64(dropped)
		s.quarantine = nil
	}
	if verdict == calendar.Believed {
		s.advance(t)
		s.add(b, at, at+1)
		return
	}
	s.quarantine = append(s.quarantine, s.quarantinePacket(b, at))
	if verdict == calendar.Adopted {
		s.adoptClock()
	}
}

// advance moves time to the time of a believed packet, and emits the counts that are due. The packet
// of the latest time is in all these windows, so that none is empty.
func (s *slides) advance(t int64) {
	if !s.started || calendar.Distance(t, s.latest) > uint64(s.window) {
		s.restart(t)
	}
	for s.next <= t && s.err == nil {
		s.emit()
	}
	if t < s.next-s.slide {
		s.late++
	}
	s.latest = max(s.latest, t)
}

// restart ends the windows before a clock was set, and makes t the first time.
func (s *slides) restart(t int64) {
	for s.packets.sum > 0 && s.err == nil {
		s.emit()
	}
	for i := range s.keys {
		for _, f := range s.keys[i].families() {
			if f.counter != nil {
				f.counter.Reset()
			}
		}
	}
	s.started, s.latest, s.next = true, t, t-calendar.Phase(t, s.slide)+s.slide // the end of its slide
}

// adoptClock counts the packets in quarantine, which are believed now.
func (s *slides) adoptClock() {
	held := s.quarantine
	s.quarantine = nil
	for _, h := range held {
		s.advance(h.time)
		s.addQuarantined(h)
	}
	s.clock.Pass(s.latest)
}

// close counts the quarantine, emits the counts of the current slide, and returns the
// memory. The error is the first failure of all.
func (s *slides) close() error {
	s.adoptClock()
	if s.packets.sum > 0 && s.err == nil {
		s.emit()
	}
	for i := range s.keys {
		for _, f := range s.keys[i].families() {
			if f.counter == nil {
				continue
			}
			if err := f.counter.Close(); s.err == nil {
				s.err = err
			}
		}
	}
	return s.err
}

// slidingKey are the counters of one key.
type slidingKey struct{ v4, v6, mac slidingFamily }

func (k *slidingKey) families() [3]*slidingFamily { return [...]*slidingFamily{&k.v4, &k.v6, &k.mac} }

// slidingFamily counts the elements of one family. Its counter is made for the first
// element.
type slidingFamily struct {
	counter slidingCounter
	packets slidePackets
	counts  engine.Counts // the counts emitted last
	current bool          // counts are also valid for the next slide
}

// slidingCounter is a sliding.Rows, a sliding.Map or a slidingSketch.
type slidingCounter interface {
	TestAndSet(seen []uint64, d []digest.Digest, times []int64)
	Advance(now int64)
	Reset()
	Count(now int64) engine.Counts
	Close() error
}

// slidePackets counts packets by slide, in a ring as long as a window.
type slidePackets struct {
	bySlide []uint64
	sum     uint64
}

// add counts packets of the slide with that slot. Slot -1 is none.
func (p *slidePackets) add(slot int, n uint64) {
	if slot >= 0 {
		p.bySlide[slot] += n
		p.sum += n
	}
}

// empty forgets the packets of a slide that leaves the window.
func (p *slidePackets) empty(slot int) {
	p.sum -= p.bySlide[slot]
	p.bySlide[slot] = 0
}

// quarantinedPacket is a packet that waits for its time to be believed.
type quarantinedPacket struct {
	time     int64
	counted  uint64 // 0 if it is left out of Count.Packets
	elements []quarantinedElements
}

// quarantinedElements are a packet's elements of one family.
type quarantinedElements struct {
	family  *slidingFamily
	digests []digest.Digest
}

// add counts the packets at to to-1 of a batch, all of one slide.
func (s *slides) add(b *Batch, at, to int) {
	s.seen.add(b.times[at:to])
	slot := s.slot(b.times[at])
	s.packets.add(slot, uint64(to-at))
	s.each(b, to, func(f *slidingFamily, digests []digest.Digest, packets []uint32) {
		s.times = b.appendTimes(s.times[:0], packets)
		s.addFamily(f, digests, s.times, slot, packetsOf(packets, b.uncounted, maxPerPacket))
	})
}

// each calls do, family by family, for the elements of the packets before to that it has
// not yet handled.
func (s *slides) each(b *Batch, to int, do func(f *slidingFamily, digests []digest.Digest, packets []uint32)) {
	for i := range b.keys {
		e, k := &b.keys[i], &s.keys[i]
		if from, end := e.Addr4.next(uint32(to)); from < end {
			s.digests = resize(s.digests, end-from)
			s.addresses.Sum(s.digests, e.Addr4.items[from:end])
			do(&k.v4, s.digests, e.Addr4.packets[from:end])
		}
		for f, series := range [...]*Series[digest.Digest]{&e.V4, &e.V6, &e.MAC} {
			if from, end := series.next(uint32(to)); from < end {
				do(k.families()[f], series.items[from:end], series.packets[from:end])
			}
		}
	}
}

// quarantinePacket copies a packet out of its batch.
func (s *slides) quarantinePacket(b *Batch, at int) quarantinedPacket {
	h := quarantinedPacket{time: b.times[at], counted: packetsOf([]uint32{uint32(at)}, b.uncounted, 1)}
	s.each(b, at+1, func(f *slidingFamily, digests []digest.Digest, _ []uint32) {
		h.elements = append(h.elements, quarantinedElements{f, slices.Clone(digests)})
	})
	return h
}

// addQuarantined counts a packet that was in quarantine.
func (s *slides) addQuarantined(h quarantinedPacket) {
	s.seen.add([]int64{h.time})
	slot := s.slot(h.time)
	s.packets.add(slot, 1)
	for _, e := range h.elements {
		s.addFamily(e.family, e.digests, slices.Repeat([]int64{h.time}, len(e.digests)), slot, h.counted)
	}
}

// addFamily counts elements of one family, from the given number of packets of a slide.
func (s *slides) addFamily(f *slidingFamily, digests []digest.Digest, times []int64, slot int, packets uint64) {
	if f.counter == nil {
		var err error
		if f.counter, err = s.cfg.newSliding(); err != nil {
			s.err = fmt.Errorf("memory for a window: %w", err)
			f.counter = sliding.NewMap(s.cfg.Window)
		}
		f.packets.bySlide = make([]uint64, len(s.packets.bySlide))
	}
	f.counter.Advance(s.latest) // the family may have been silent until now
	f.counter.TestAndSet(nil, digests, times)
	f.current = false
	f.packets.add(slot, packets)
}

// slot returns the slot of slidePackets for the slide of a time, or -1 if it has left the
// window.
func (s *slides) slot(t int64) int {
	if t < s.next-s.window {
		return -1
	}
	return int(calendar.Phase(t-calendar.Phase(t, s.slide), s.window) / s.slide)
}

// newSliding makes a counter of a sliding window.
func (c *Config) newSliding() (slidingCounter, error) {
	switch c.Method {
	case methodExact:
		return sliding.NewMap(c.Window), nil
	case methodSketch:
		return &slidingSketch{distinct.NewSlidingSketch(int(c.Window / c.Slide)), int64(c.Slide)}, nil
	}
	s, err := sliding.New(sliding.Config{Window: c.Window, Step: c.Slide, Memory: c.Memory})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// emit emits the counts of the window before the next multiple of the slide, and moves
// time there.
func (s *slides) emit() {
	end := s.next
	s.err = s.emitCounts(end-s.window, end, s.counts(end))
	s.next += s.slide
	slot := s.slot(end) // slot of the slide that leaves the window
	if s.packets.bySlide[slot] == 0 {
		return // the counts remain
	}
	s.packets.empty(slot)
	for i := range s.keys {
		for _, f := range s.keys[i].families() {
			if f.counter != nil {
				f.packets.empty(slot)
				f.current = false
			}
		}
	}
}

// counts returns the counts of the window before end, key by key.
func (s *slides) counts(end int64) (all []Count) {
	for i := range s.keys {
		k := &s.keys[i]
		all = appendFamilies(all, &s.cfg.Keys[i], k.v4.count(end), k.v6.count(end), k.mac.count(end))
	}
	return all
}

// count returns the counts of the window before end. A family without elements has zero
// counts, which are exact.
func (f *slidingFamily) count(end int64) Count {
	if f.counter == nil {
		return Count{Counts: engine.Counts{Method: methodExact}}
	}
	if !f.current { // counting reads each slide of the window
		f.counts, f.current = f.counter.Count(end-1), true
	}
	return Count{Packets: f.packets.sum, Counts: f.counts}
}

// slidingSketch has a sketch for each slide.
type slidingSketch struct {
	sliding *distinct.SlidingSketch
	slide   int64
}

// step returns the number of the slide that holds t.
func (s *slidingSketch) step(t int64) int64 { return (t - calendar.Phase(t, s.slide)) / s.slide }

// TestAndSet adds digests. It cannot report repeats, so seen must be nil.
func (s *slidingSketch) TestAndSet(_ []uint64, d []digest.Digest, times []int64) {
	for i := range d {
		s.sliding.Add(s.step(times[i]), distinct.Mix(d[i][0]))
	}
}

func (s *slidingSketch) Advance(now int64) { s.sliding.Advance(s.step(now)) }
func (s *slidingSketch) Reset()            { s.sliding.Reset() }
func (s *slidingSketch) Close() error      { return nil }

func (s *slidingSketch) Count(now int64) engine.Counts {
	s.Advance(now)
	return distinct.SketchCounts(s.sliding.Estimate(), s.sliding.Bytes())
}
