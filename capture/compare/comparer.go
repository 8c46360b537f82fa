// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/internal/backlog"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// DefaultWindow and DefaultMemory are the defaults of a Config of zeros.
const (
	DefaultWindow = 100 * time.Millisecond
	DefaultMemory = 256 << 20
)

// The sides, by number.
const (
	sideA = 0
	sideB = 1
)

// Config says how two sides are compared.
type Config struct {
	// Identity says which packets are equal. If its Bytes is 0, the comparison takes as many
	// bytes as both sides captured of each of their first packets.
	Identity identity.Config
	// Window is the largest distance of equal packets from the offset of the clocks.
	Window time.Duration
	// Memory bounds the bytes that remembered packets take. Counters take at most 20 MiB more.
	Memory int
	// Blocks keeps blocks without a packet, such as names of hosts, for the output of Run.
	Blocks bool
	// Key and Seed key all digests and hashes. Whoever does not know them cannot choose
	// packets that collide.
	Key  [16]byte
	Seed uint64
}

// Source yields the packets of a side.
type Source interface {
	// Next returns the next batch, nil at the end.
	Next() *Batch
	// Release takes back a batch that Next has returned.
	Release(p *Batch)
}

// Comparer compares two sides: A, then B. Search must be called first, then Run. No method
// may be called twice.
type Comparer struct {
	cfg   Config
	bytes atomic.Int64 // how many bytes of identities are compared, 0 for all
	sides [2]side
	start line
	found bool

	prepare *Preparer
	match   *matcher
	groups  [2]packetGroup // of the sides
	tracker tracker
	delays  delays
	// doubtful are delays that count only where delays has none.
	doubtful delays
	talks    *talks
	passed   int64 // all packets before this time have been read
	held     int   // bytes that are to be written: of packets that are not settled, and of blocks
	written  func(side int, b *capture.Batch, matched []uint64) error
	failed   error // of written

	both, forgotten uint64
	fast, slow      int64 // the least and the largest difference of a delay from the usual delay
}

// side is the state of a side.
type side struct {
	source Source
	queue  backlog.Queue[*Batch] // that were read; its front in part, if it is open
	at     int                   // the next packet of the front
	open   bool
	ended  bool // the source has no more
	holds  backlog.Queue[holding]
	number int // packets of holds that are settled

	clock    calendar.Clock
	latest   int64 // place of the latest packet, by its own clock
	next     int64 // place of the packet at the front, if hasNext is set
	hasNext  bool
	first    int64 // time of the first packet, by its own clock
	hasTime  bool
	time     int64 // of the packet at the front, by its own clock
	lastRead int64 // place of the last packet, by the corrected clock
	recent   recent

	counts        Side // without what Report adds from the fields below
	protocols     [headers.ProtocolCount]uint64
	unopened      headers.UnopenedCounts
	only, outside [headers.ProtocolCount]uint64
	alone         uint64
}

// holding is a batch that waits to be written.
type holding struct {
	batch   *Batch
	matched []uint64
	blocks  int  // bytes of blocks that hold no packet
	read    bool // to its end
}

// ErrConfig is wrapped by the errors of New.
var ErrConfig = errors.New("impossible configuration")

// New makes a Comparer. Errors wrap ErrConfig.
func New(cfg Config) (*Comparer, error) {
	if cfg.Window < 0 || cfg.Memory < 0 {
		return nil, fmt.Errorf("%w: a window of %v, %d bytes of memory", ErrConfig, cfg.Window, cfg.Memory)
	}
	if err := cfg.Identity.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	cfg.Window, cfg.Memory = cmp.Or(cfg.Window, DefaultWindow), cmp.Or(cfg.Memory, DefaultMemory)
	c := &Comparer{cfg: cfg, talks: newTalks()}
	c.bytes.Store(int64(max(cfg.Identity.Bytes, 0)))
	c.prepare = c.NewPreparer(sideA)
	for i := range c.sides {
		s := &c.sides[i]
		s.clock = calendar.Clock{Ahead: mostPause, Behind: calendar.Tolerance}
	}
	return c, nil
}

// mostPause is how long no packet comes, at most, before a time is taken for wrong.
const mostPause = 24 * time.Hour

// ErrNoTime is wrapped where no packet of a side has a time.
var ErrNoTime = errors.New("no packet has a time")

const (
	// leastPrefix is the number of packets of each side in the first search for the offset.
	// Each further search takes more.
	leastPrefix = 1 << 12
	morePrefix  = 4
	// mostPrefix bounds them, in bytes of each side.
	mostPrefix = 64 << 20
	// leastBytes is the least that is compared of a truncated packet. Shorter packets find no equal
	// packet.
	leastBytes = 32
)

// Search looks for the offset of the clocks among the first packets of both sides. It returns
// false if they do not decide and there are more packets. A Survey of both sides may then
// decide. Run continues with the packets that Search has read.
func (c *Comparer) Search(a, b Source) (sure bool, err error) {
	c.sides[sideA].source, c.sides[sideB].source = a, b
	var looked [2]int
	whole := false
	for n := leastPrefix; !sure && !whole; n *= morePrefix {
		var seen []probe
		more := false
		whole = true
		for i := range c.sides {
			count, all := c.prefix(i, n)
			more = more || count > looked[i]
			whole = whole && (all || count < n)
			looked[i] = count
		}
		if !more {
			break
		}
		for i := range c.sides {
			seen = c.sight(seen, i, looked[i])
		}
		c.start, c.found, sure = locate(seen, c.cfg.Window)
	}
	for i := range c.sides {
		s := &c.sides[i]
		s.latest = s.first
		s.clock.Set(s.first)
		if looked[i] > 0 && !s.hasTime {
			return false, fmt.Errorf("%s: %w", [2]string{"A", "B"}[i], ErrNoTime)
		}
	}
	return sure || c.sides[sideA].ended && c.sides[sideB].ended, nil
}

// prefix reads n packets of a side, if there are as many and they fit. It returns their
// number, and whether the side has no more. It lowers the number of compared bytes to the length of
// the shortest truncated packet.
func (c *Comparer) prefix(i, n int) (count int, all bool) {
	s := &c.sides[i]
	bytes := 0
	for at := 0; ; at++ {
		if at == s.queue.Len() && !s.read() {
			return count, true
		}
		p := *s.queue.At(at)
		if bytes += backlog.BlockBytes(&p.packets); bytes > min(mostPrefix, c.cfg.Memory/4) {
			return count, false
		}
		for k := range p.packets.Frames {
			if bytes += int(p.packets.Frames[k].RecordLen) + knownBytes; count == n || bytes > min(mostPrefix, c.cfg.Memory/4) {
				return count, false
			}
			count++
			if have, cut := c.prepare.captured(p, k); cut && have >= leastBytes && c.cfg.Identity.Bytes <= 0 {
				if now := int(c.bytes.Load()); now == 0 || have < now {
					c.bytes.Store(int64(have))
				}
			}
			if t := p.timeOf(k); t != calendar.NoTime && !s.hasTime {
				s.first, s.hasTime = t, true
			}
		}
	}
}

// sight appends the first n packets of a side.
func (c *Comparer) sight(seen []probe, i, n int) []probe {
	for at := 0; n > 0; at++ {
		p := *c.sides[i].queue.At(at)
		c.prepare.refresh(p)
		for k := 0; k < len(p.packets.Frames) && n > 0; k++ {
			n--
			if t := p.timeOf(k); t != calendar.NoTime {
				seen = append(seen, probe{digest: p.digests[k], time: t, side: uint8(i)})
			}
		}
	}
	return seen
}

// read reads the next batch. It returns false at the end.
func (s *side) read() bool {
	for !s.ended {
		p := s.source.Next()
		if p == nil {
			s.ended = true
			break
		}
		if len(p.packets.Frames)+len(p.packets.Blocks) == 0 { // a filter left nothing of it
			s.source.Release(p)
			continue
		}
		s.queue.Push(p)
		return true
	}
	return false
}

// Survey is a sample of the packets of a side, by digest.
type Survey struct {
	side  int
	level uint // number of bits of the digests that are 0
	seen  []probe
}

// mostSurveyed bounds the packets of a Survey. It takes 10 MiB.
const mostSurveyed = 1 << 18

// NewSurvey makes a Survey of a side, 0 for A and 1 for B.
func NewSurvey(side int) *Survey { return &Survey{side: side} }

// Add adds the next packets of the side.
func (s *Survey) Add(p *Batch) {
	for i := range p.packets.Frames {
		d, t := p.digests[i], p.timeOf(i)
		if d[1]&(1<<s.level-1) != 0 || t == calendar.NoTime {
			continue
		}
		if len(s.seen) == mostSurveyed {
			s.raise(s.level + 1)
		}
		s.seen = append(s.seen, probe{digest: d, time: t, side: uint8(s.side)})
	}
}

// raise makes the sample smaller.
func (s *Survey) raise(level uint) {
	s.level = level
	kept := s.seen[:0]
	for _, p := range s.seen {
		if p.digest[1]&(1<<level-1) == 0 {
			kept = append(kept, p)
		}
	}
	s.seen = kept
}

// Locate finds the offset of the clocks by surveys of both sides.
func (c *Comparer) Locate(a, b *Survey) {
	level := max(a.level, b.level)
	a.raise(level)
	b.raise(level)
	if l, found, _ := locate(append(a.seen, b.seen...), c.cfg.Window); found {
		c.start, c.found = l, true
	}
}
