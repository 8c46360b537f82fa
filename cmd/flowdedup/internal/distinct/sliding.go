package distinct

import (
	"time"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// MaxSlides is the most slides that a window has.
const MaxSlides = 4096

// slidingCounting counts the keys of a stream in windows that slide: at each multiple of
// the slide, counted from 1970 UTC in the time of packets, over the window before it.
//
// A row is told when the first packet of a later slide comes. A packet that comes even later
// is missing from it, and is counted as late; windows to come have it, if it is in them. A
// packet whose time is more than a window away from the latest one is an outlier, and is
// held until the clock believes it: one wild clock must not end all windows.
type slidingCounting struct {
	cfg       *Config
	loc       *time.Location
	addresses *engine.Addresses
	window    int64
	slide     int64
	keys      []slidingKey
	packets   slidingPackets // all of them
	clock     calendar.Clock
	held      []heldPacket // in quarantine
	started   bool
	next      int64 // when the next row is due
	latest    int64 // time in the windows
	late      uint64
	err       error

	digests []asm.Digest // scratch
	times   []int64
}

func newSlidingCounting(cfg *Config, loc *time.Location) *slidingCounting {
	s := &slidingCounting{
		cfg: cfg, loc: loc, addresses: engine.NewAddresses(cfg.Secret.AESKey(engine.KeyBijection)),
		window: int64(cfg.Window), slide: int64(cfg.Slide), keys: make([]slidingKey, len(cfg.Keys)),
		clock: calendar.Clock{Ahead: cfg.Window, Behind: cfg.Window},
	}
	s.packets.bySlide = make([]uint64, s.window/s.slide)
	return s
}

// count takes the packets of a batch, in the order of the stream.
func (s *slidingCounting) count(p *Packets) error {
	for at := 0; at < len(p.times) && s.err == nil; {
		n := s.leading(p.times[at:])
		if n > 0 {
			s.enter(p, at, at+n)
		} else {
			n = 1
			s.observe(p, at)
		}
		at += n
	}
	return s.err
}

// leading counts the packets of the running slide, up to the first of another time.
func (s *slidingCounting) leading(times []int64) (n int) {
	if !s.started || len(s.held) > 0 {
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

// observe takes a packet that time may go on with.
func (s *slidingCounting) observe(p *Packets, at int) {
	t := p.times[at]
	if !calendar.InRange(t) {
		s.late++
		p.skip(uint32(at + 1))
		return
	}
	verdict, dropped := s.clock.Observe(t)
	if dropped > 0 {
		s.late += uint64(dropped)
		s.held = nil
	}
	if verdict == calendar.Believed {
		s.goTo(t)
		s.enter(p, at, at+1)
		return
	}
	s.held = append(s.held, s.heldPacket(p, at))
	if verdict == calendar.Adopted {
		s.adoptClock()
	}
}

// goTo lets time go on to a packet that is believed.
func (s *slidingCounting) goTo(t int64) {
	if !s.started || calendar.Distance(t, s.latest) > uint64(s.window) {
		s.restart(t)
	}
	for s.next <= t && s.packets.sum > 0 && s.err == nil {
		s.tell()
	}
	s.next = max(s.next, s.endOf(t)) // windows without packets have no row
	if t < s.next-s.slide {
		s.late++
	}
	s.latest = max(s.latest, t)
}

// restart ends the windows before a clock was set, and begins time with t.
func (s *slidingCounting) restart(t int64) {
	for s.packets.sum > 0 && s.err == nil {
		s.tell()
	}
	for i := range s.keys {
		for _, f := range s.keys[i].all() {
			if f.counter != nil {
				f.counter.Reset()
			}
		}
	}
	s.started, s.latest, s.next = true, t, s.endOf(t)
}

// endOf returns the end of the slide that holds t.
func (s *slidingCounting) endOf(t int64) int64 { return t - calendar.Phase(t, s.slide) + s.slide }

// adoptClock counts the packets that are held, which are believed now.
func (s *slidingCounting) adoptClock() {
	held := s.held
	s.held = nil
	for _, h := range held {
		s.goTo(h.time)
		s.enterHeld(h)
	}
	s.clock.Pass(s.latest)
}

// close counts what is held, tells the row of the running slide, and gives the memory back.
// The error is the first failure of all.
func (s *slidingCounting) close() error {
	s.adoptClock()
	if s.packets.sum > 0 && s.err == nil {
		s.tell()
	}
	for i := range s.keys {
		for _, f := range s.keys[i].all() {
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
