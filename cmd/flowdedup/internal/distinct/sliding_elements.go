package distinct

import (
	"fmt"
	"slices"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/stamp"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// slidingKey are the counters of one key.
type slidingKey struct{ v4, v6, mac slidingFamily }

// slidingFamily counts the elements of one family. Its counter comes to be with the first
// of them.
type slidingFamily struct {
	counter slidingCounter
	packets slidingPackets
	counts  engine.Counts // of the last row
	current bool          // counts are those of the next row too
}

// slidingCounter is an engine.Sliding or an engine.SlidingSet.
type slidingCounter interface {
	TestAndSet(seen []uint64, d []asm.Digest, times []int64)
	Advance(now int64)
	Reset()
	Count(now int64) engine.Counts
	Close() error
}

// slidingPackets counts packets by slide, in a ring as long as a window.
type slidingPackets struct {
	bySlide []uint64
	sum     uint64
}

// add counts packets of the slide with that slot, of which -1 is none.
func (p *slidingPackets) add(slot int, n uint64) {
	if slot >= 0 {
		p.bySlide[slot] += n
		p.sum += n
	}
}

// empty forgets the packets of a slide that leaves the window.
func (p *slidingPackets) empty(slot int) {
	p.sum -= p.bySlide[slot]
	p.bySlide[slot] = 0
}

// heldPacket is a packet that waits for its time to be believed.
type heldPacket struct {
	time     int64
	counted  uint64 // 0 if rows leave it out of their number of packets
	elements []heldElements
}

// heldElements are a packet's elements of one family.
type heldElements struct {
	family  *slidingFamily
	digests []asm.Digest
}

// enter counts packets at to to-1 of a batch, all of one slide.
func (s *slidingCounting) enter(p *Packets, at, to int) {
	slot := s.slot(p.times[at])
	s.packets.add(slot, uint64(to-at))
	s.each(p, to, func(f *slidingFamily, digests []asm.Digest, frames []uint32) {
		s.times = s.times[:0]
		for _, frame := range frames {
			s.times = append(s.times, p.times[frame])
		}
		s.set(f, digests, s.times, slot, packetsOf(frames, p.drop, mostPerPacket))
	})
}

// each calls do for the elements of the packets before to that were not taken yet, family by
// family.
func (s *slidingCounting) each(p *Packets, to int, do func(f *slidingFamily, digests []asm.Digest, frames []uint32)) {
	for i := range p.keys {
		e, k := &p.keys[i], &s.keys[i]
		if from, end := e.addr4.next(uint32(to)); from < end {
			s.digests = slices.Grow(s.digests[:0], end-from)[:end-from]
			s.addresses.Sum(s.digests, e.addr4.items[from:end])
			do(&k.v4, s.digests, e.addr4.frames[from:end])
		}
		eachDigest(&k.v4, &e.v4, to, do)
		eachDigest(&k.v6, &e.v6, to, do)
		eachDigest(&k.mac, &e.mac, to, do)
	}
}

func eachDigest[K any](
	f *slidingFamily, e *series[asm.Digest, K], to int, do func(f *slidingFamily, digests []asm.Digest, frames []uint32),
) {
	if from, end := e.next(uint32(to)); from < end {
		do(f, e.items[from:end], e.frames[from:end])
	}
}

// heldPacket takes a packet out of its batch.
func (s *slidingCounting) heldPacket(p *Packets, at int) heldPacket {
	h := heldPacket{time: p.times[at], counted: packetsOf([]uint32{uint32(at)}, p.drop, 1)}
	s.each(p, at+1, func(f *slidingFamily, digests []asm.Digest, _ []uint32) {
		h.elements = append(h.elements, heldElements{f, slices.Clone(digests)})
	})
	return h
}

// enterHeld counts a packet that was held.
func (s *slidingCounting) enterHeld(h heldPacket) {
	slot := s.slot(h.time)
	s.packets.add(slot, 1)
	for _, e := range h.elements {
		s.set(e.family, e.digests, slices.Repeat([]int64{h.time}, len(e.digests)), slot, h.counted)
	}
}

// set counts elements of one family, from so many packets of a slide.
func (s *slidingCounting) set(f *slidingFamily, digests []asm.Digest, times []int64, slot int, packets uint64) {
	if f.counter == nil {
		var err error
		if f.counter, err = s.cfg.newSliding(); err != nil {
			s.err = fmt.Errorf("memory for a window: %w", err)
			f.counter = engine.NewSlidingSet(s.cfg.Window)
		}
		f.packets.bySlide = make([]uint64, len(s.packets.bySlide))
	}
	f.counter.Advance(s.latest) // no clock of its own: the family may have been silent
	f.counter.TestAndSet(nil, digests, times)
	f.current = false
	f.packets.add(slot, packets)
}

// slot returns where slidingPackets count the slide of a time, -1 if that left the window.
func (s *slidingCounting) slot(t int64) int {
	if t < s.next-s.window {
		return -1
	}
	return int(calendar.Phase(t-calendar.Phase(t, s.slide), s.window) / s.slide)
}

// newSliding makes a counter of a window that slides.
func (c *Config) newSliding() (slidingCounter, error) {
	if c.Method == methodExact {
		return engine.NewSlidingSet(c.Window), nil
	}
	s, err := engine.NewSliding(engine.SlidingConfig{Window: c.Window, Step: c.Slide, Memory: c.Memory})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// tell tells the counts of the window before the next multiple of the slide, and lets time go
// on to it.
func (s *slidingCounting) tell() {
	end := s.next
	s.err = s.cfg.Rows(s.rows(end))
	s.next += s.slide
	slot := s.slot(end) // of the slide that leaves the window
	if s.packets.bySlide[slot] == 0 {
		return // counts stay as they are
	}
	s.packets.empty(slot)
	for i := range s.keys {
		for _, f := range s.keys[i].all() {
			if f.counter != nil {
				f.packets.empty(slot)
				f.current = false
			}
		}
	}
}

func (k *slidingKey) all() [3]*slidingFamily { return [...]*slidingFamily{&k.v4, &k.v6, &k.mac} }

// rows returns the counts of the window before end, key by key.
func (s *slidingCounting) rows(end int64) (rows []Row) {
	from, to := stamp.Format(end-s.window, s.loc), stamp.Format(end, s.loc)
	for i := range s.keys {
		key, k := &s.cfg.Keys[i], &s.keys[i]
		families := familiesOf(*key, k.v4.family(end), k.v6.family(end), k.mac.family(end))
		rows = appendRows(rows, from, to, key.Of.String(), families)
	}
	return rows
}

// family returns the counts of the window before end. Those of a family of which nothing was
// seen are zero, and exact.
func (f *slidingFamily) family(end int64) family {
	if f.counter == nil {
		return family{counts: engine.Counts{Method: methodExact}}
	}
	if !f.current { // a count takes a look at each slide of the window
		f.counts, f.current = f.counter.Count(end-1), true
	}
	return family{counts: f.counts, packets: f.packets.sum}
}
