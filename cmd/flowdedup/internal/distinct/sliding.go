package distinct

import (
	"time"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/engine"
)

const (
	// MaxSlides is the most slides that a window has.
	MaxSlides = 4096
	// clockPackets is how many packets of another time set the clock. It is less than
	// half of what engine.Sliding asks for: a packet has two addresses, and rows of the
	// old time are told before a counter goes over to the new one.
	clockPackets = 15
	// farthest bounds times, so that sums of them and of a window fit.
	farthest = 1 << 62
)

// slidingCounting counts the keys of a stream in windows that slide: at each multiple of the slide,
// counted from 1970 UTC in the time of packets, over the window before it.
//
// A row is told when the first packet of a later slide comes. A packet that comes even later
// is missing from it, and is counted as late; windows to come have it, if it is in them. A
// packet whose time is more than a window away from the latest one is held back until 15 of
// them, not outnumbered by others, say that time goes on there, so that one wild clock
// does not end all windows.
type slidingCounting struct {
	cfg       *Config
	loc       *time.Location
	addresses *engine.Addresses
	window    int64
	slide     int64
	keys      []slidingKey
	packets   slidingPackets // all of them
	started   bool
	next      int64 // when the next row is due
	latest    int64
	held      []heldPacket
	votes     int // for the time of packets held
	late      uint64
	err       error

	digests []asm.Digest // scratch
	times   []int64
}

func newSlidingCounting(cfg *Config, loc *time.Location) *slidingCounting {
	s := &slidingCounting{
		cfg: cfg, loc: loc, addresses: engine.NewAddresses(cfg.Secret.AESKey(engine.KeyBijection)),
		window: int64(cfg.Window), slide: int64(cfg.Slide), keys: make([]slidingKey, len(cfg.Keys)),
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
			s.single(p, at)
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
	return n
}

// single takes a packet that time may go on with.
func (s *slidingCounting) single(p *Packets, at int) {
	t := p.times[at]
	switch {
	case t < -farthest || t > farthest:
		s.late++
		p.skip(uint32(at + 1))
	case s.started && s.far(t):
		s.hold(s.heldPacket(p, at))
	default:
		s.pass(t)
		s.enter(p, at, at+1)
	}
}

func (s *slidingCounting) far(t int64) bool { return apart(t, s.latest) > s.window }

// pass lets time go on to a packet that is believed.
func (s *slidingCounting) pass(t int64) {
	if !s.started {
		s.started, s.latest, s.next = true, t, s.endOf(t)
	}
	if len(s.held) > 0 {
		if s.votes--; s.votes <= 0 {
			s.drop()
		}
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

// endOf returns the end of the slide that holds t.
func (s *slidingCounting) endOf(t int64) int64 { return t - floorMod(t, s.slide) + s.slide }

// floorMod returns t modulo m in 0 to m-1.
func floorMod(t, m int64) int64 { return (t%m + m) % m }

// hold keeps a packet back. One that is far from those held decides on them: it drops them if it is
// nearer to the time before.
func (s *slidingCounting) hold(h heldPacket) {
	if n := len(s.held); n > 0 {
		last := s.held[n-1].time
		switch away := apart(h.time, last); {
		case away <= s.window:
		case apart(h.time, s.latest) < away:
			s.drop()
		default:
			s.release()
		}
	}
	s.held = append(s.held, h)
	if s.votes++; len(s.held) == clockPackets {
		s.release()
	}
}

// apart returns how far two times are from each other.
func apart(a, b int64) int64 { return max(a, b) - min(a, b) }

// drop gives up the packets that are held.
func (s *slidingCounting) drop() {
	s.late += uint64(len(s.held))
	s.held, s.votes = s.held[:0], 0
}

// release believes the packets that are held: windows before them end, and time goes on with
// the first of them. Some may be held again, if they are far from that.
func (s *slidingCounting) release() {
	held := s.held
	s.held, s.votes = nil, 0
	for s.packets.sum > 0 && s.err == nil {
		s.tell()
	}
	s.started = false
	for _, h := range held {
		if s.started && s.far(h.time) {
			s.hold(h)
			continue
		}
		s.pass(h.time)
		s.enterHeld(h)
	}
}

// close tells the row of the running slide, and gives the memory back. The error is the first
// failure of all.
func (s *slidingCounting) close() error {
	if len(s.held) > 0 {
		s.release()
	}
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
