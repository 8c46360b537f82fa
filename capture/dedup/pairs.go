// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math"
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

const (
	pairIdle  = 1 << 16
	pairLines = 1 << 14
	pairCells = 2
)

// pairCell is the last packet that stays of a digest.
type pairCell struct {
	tag  uint64 // see tag, in the low bits whether the packet is fit; 0 for no packet
	time int64
}

const (
	fitPacket   = 1
	unfitPacket = 2
	sortBits    = 3
)

// is reports whether a cell has a packet of a sort.
func (c *pairCell) is(sort uint64) bool { return c.tag&sortBits == sort }

// pairs finds copies between fit and unfit packets, which the filter does not compare: see unfit. It
// remembers the latest packets, in less than 1 MiB. Packets whose equals it forgot stay. It does not
// know points.
type pairs struct {
	// window is the largest distance in time of an unfit packet from a fit packet before it whose copy
	// it is.
	window time.Duration
	// hold is the largest distance of a fit packet from an unfit packet before it whose place it takes.
	// Beyond hold, and with 0, both stay.
	hold time.Duration
	// often says that unfit packets are no rarity. Otherwise an unfit packet begins the search, and
	// packets before it are not found. pairIdle packets without a further unfit packet end the search.
	often bool

	lines [][pairCells]pairCell // nil until the first unfit packet
	left  int                   // packets until the search ends
	word  [1]uint64

	touched uint64 // so that no compiler leaves touch out
}

// newPairs makes pairs, nil if it is to find none. Windows of packets have no pairs: how many packets
// lie between two depends on which are copies.
func newPairs(c *Config) *pairs {
	s := &pairs{window: c.Window.Duration, often: c.Checksums || c.Reader != nil}
	if c.Window.None {
		s.window = math.MaxInt64
	}
	if s.window <= 0 || c.Across {
		return nil
	}
	s.hold = min(c.Hold.For, s.window)
	if s.often {
		s.begin()
	}
	return s
}

// searches reports whether pairs has to see a batch.
func (s *pairs) searches(p *BatchDetector) bool {
	return s != nil && (p.unfit.some || s.left > 0)
}

// judgePairs judges the packets of a batch whose bits are set in judged, all for nil. The digests are
// as unfit.turn leaves them. It sets a bit in paired for each fit packet that is to take the place of
// an equal unfit packet. Unfit copies of fit packets do not reach the filter: a removed packet begins
// no window.
func (p *BatchDetector) judgePairs(judged []uint64) {
	p.v.Paired = capture.Zeroed(p.v.Paired, len(p.v.Drop))
	clear(p.v.Drop)
	if judged == nil && !p.unfit.some {
		p.judgeRun(0, len(p.v.Digests))
		return
	}
	for from := 0; from < len(p.v.Digests); from += 64 {
		begin, end := from, min(from+64, len(p.v.Digests))
		for i := from; i < end; i++ {
			leave := judged != nil && !capture.IsSet(judged, i)
			if !leave && !(p.unfit.is(i) && p.mayPair(begin, i)) {
				continue
			}
			p.judgeRun(begin, i)
			begin = i
			if !leave && p.detector.pairs.isCopy(p, i) {
				capture.SetBit(p.v.Drop, i)
				leave = true
			}
			if leave {
				begin++
			}
		}
		p.judgeRun(begin, end)
	}
}

// judgeRun has the filter judge packets of one word of bits, or of a batch.
func (p *BatchDetector) judgeRun(begin, end int) {
	s, filter := p.detector.pairs, p.detector.cfg.Filter
	switch {
	case begin == end:
		return
	case end-begin > 64:
		filter.TestAndSet(p.v.Drop, p.v.Digests, p.v.Times, nil)
	default:
		filter.TestAndSet(s.word[:], p.v.Digests[begin:end], p.v.Times[begin:end], nil)
		p.v.Drop[begin/64] |= s.word[0] << (begin % 64)
	}
	for ; begin < end; begin += 64 {
		s.touch(p, begin, min(begin+64, end))
		for i := begin; i < min(begin+64, end); i++ {
			s.note(p, i)
		}
	}
}

// touch has the CPU fetch the lines of packets side by side.
func (s *pairs) touch(p *BatchDetector, begin, end int) {
	if s.lines == nil {
		return
	}
	for i := begin; i < end; i++ {
		s.touched ^= s.line(p.tag(i))[0].tag
	}
}

// mayPair reports whether unfit packet i may be a copy of a fit packet, before the packets of its word
// from begin on are judged.
func (p *BatchDetector) mayPair(begin, i int) bool {
	tag, first := p.tag(i), begin&^63
	for fit := ^p.unfit.all[begin/64] >> (begin - first) << (begin - first) &^ (^uint64(0) << (i - first)); fit != 0; fit &= fit - 1 {
		if p.v.Digests[first+bits.TrailingZeros64(fit)][1]&^sortBits == tag {
			return true
		}
	}
	return p.detector.pairs.isCopy(p, i)
}

// tag returns half of the digest that packet i has if it is fit, without sortBits.
func (p *BatchDetector) tag(i int) uint64 {
	tag := p.v.Digests[i][1]
	if p.unfit.is(i) {
		tag ^= unfitMask[1]
	}
	return tag &^ sortBits
}

// isCopy reports whether unfit packet i is a copy of a fit packet that was noted.
func (s *pairs) isCopy(p *BatchDetector, i int) bool {
	if s.lines == nil || p.v.Times[i] == calendar.NoTime {
		return false
	}
	c, known := s.find(p.tag(i))
	return known && c.is(fitPacket) && calendar.Distance(c.time, p.v.Times[i]) <= uint64(s.window)
}

// note takes note of a judged packet.
func (s *pairs) note(p *BatchDetector, i int) {
	unfit := p.unfit.is(i)
	switch {
	case unfit:
		s.begin()
	case s.left == 0:
		return
	case !s.often:
		s.left--
	}
	if capture.IsSet(p.v.Drop, i) || p.v.Times[i] == calendar.NoTime {
		return
	}
	c, known := s.find(p.tag(i))
	if known && !unfit && c.is(unfitPacket) && s.hold > 0 && calendar.Distance(c.time, p.v.Times[i]) <= uint64(s.hold) {
		capture.SetBit(p.v.Drop, i)
		capture.SetBit(p.v.Paired, i)
	}
	*c = pairCell{tag: p.tag(i) | fitPacket, time: p.v.Times[i]}
	if unfit {
		c.tag ^= fitPacket ^ unfitPacket
	}
}

// begin begins the search.
func (s *pairs) begin() {
	s.left = pairIdle
	if s.lines == nil {
		s.lines = make([][pairCells]pairCell, pairLines)
	}
}

// line returns the cells that a packet with a tag may have.
func (s *pairs) line(tag uint64) *[pairCells]pairCell { return &s.lines[tag>>2%pairLines] }

// find returns the cell with a tag, else an empty cell of its line, else the cell of the oldest packet.
func (s *pairs) find(tag uint64) (c *pairCell, known bool) {
	line := s.line(tag)
	c = &line[0]
	for i := range line {
		switch cell := &line[i]; {
		case cell.tag == 0:
			return cell, false
		case cell.tag&^sortBits == tag:
			return cell, true
		case cell.time < c.time:
			c = cell
		}
	}
	return c, false
}
