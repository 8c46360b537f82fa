// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math"
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/window"
)

// PairConfig says when a fit packet and an equal unfit one are copies. The filter compares packets
// of one sort only: see unfit. The zero value finds none.
type PairConfig struct {
	// window is the largest distance of the times of an unfit packet and the fit one before it that
	// it copies; 0 is for none.
	window time.Duration
	// hold is the largest distance of a fit packet and an unfit one before it, of which it takes the
	// place. Beyond it, and with 0, both stay.
	hold time.Duration
	// often says that unfit packets are no rarity. Otherwise the first one begins the search, and
	// packets before it are not found; pairPatience packets without another end it.
	often bool
}

// PairsWithin returns a PairConfig for a window and a hold. often says that unfit packets are no
// rarity. Windows of packets have no pairs: how many packets lie between two depends on which are
// copies.
func PairsWithin(w window.Window, hold time.Duration, often bool) PairConfig {
	c := PairConfig{window: w.Duration, hold: hold, often: often}
	if w.None {
		c.window = math.MaxInt64
	}
	c.hold = min(c.hold, c.window)
	return c
}

const (
	pairPatience = 1 << 16
	pairLines    = 1 << 14
	pairCells    = 2
)

// pairCell is the last packet that stays of a digest.
type pairCell struct {
	tag  uint64 // half of the digest of a fit packet
	time int64
	sort pairSort
}

type pairSort uint8

const (
	noPacket pairSort = iota
	fitPacket
	unfitPacket
)

// pairs finds copies between fit and unfit packets. It remembers the latest packets, in less than 1
// MiB. What it does not remember stays. It does not know points.
type pairs struct {
	cfg   PairConfig
	lines [][pairCells]pairCell // nil until the first unfit packet
	left  int                   // packets until the search ends
	word  [1]uint64
}

// newPairs makes pairs, nil if it is to find none.
func newPairs(parts *Parts) *pairs {
	if parts.Pairs.window <= 0 || parts.Across {
		return nil
	}
	s := &pairs{cfg: parts.Pairs}
	if s.cfg.often {
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
// an unfit one, of which it is a copy. The filter sees no unfit packet that is a copy of a fit one:
// a removed packet begins no window.
func (p *BatchDetector) judgePairs(judged []uint64) {
	p.paired = capture.Resize(p.paired, len(p.drop))
	clear(p.paired)
	clear(p.drop)
	for from := 0; from < len(p.digests); from += 64 {
		begin, end := from, min(from+64, len(p.digests))
		for i := from; i < end; i++ {
			leave := judged != nil && !isSet(judged, i)
			if !leave && !(p.unfit.is(i) && p.mayPair(begin, i)) {
				continue
			}
			p.judgeRun(begin, i)
			begin = i
			if !leave && p.detector.pairs.isCopy(p, i) {
				setBit(p.drop, i)
				leave = true
			}
			if leave {
				begin++
			}
		}
		p.judgeRun(begin, end)
	}
}

// judgeRun has the filter judge packets of one word of bits.
func (p *BatchDetector) judgeRun(begin, end int) {
	if begin == end {
		return
	}
	s := p.detector.pairs
	p.detector.parts.Filter.TestAndSet(s.word[:], p.digests[begin:end], p.times[begin:end], nil)
	p.drop[begin/64] |= s.word[0] << (begin % 64)
	for i := begin; i < end; i++ {
		s.note(p, i)
	}
}

// mayPair reports whether unfit packet i is a copy of a fit one, as far as that is known before the
// packets of its word from begin on are judged.
func (p *BatchDetector) mayPair(begin, i int) bool {
	tag, first := p.tag(i), begin&^63
	for fit := ^p.unfit.all[begin/64] >> (begin - first) << (begin - first) &^ (^uint64(0) << (i - first)); fit != 0; fit &= fit - 1 {
		if p.digests[first+bits.TrailingZeros64(fit)][1] == tag {
			return true
		}
	}
	return p.detector.pairs.isCopy(p, i)
}

// tag returns half of the digest that packet i has if it is fit.
func (p *BatchDetector) tag(i int) uint64 {
	if p.unfit.is(i) {
		return p.digests[i][1] ^ unfitMask[1]
	}
	return p.digests[i][1]
}

// isCopy reports whether unfit packet i is a copy of a fit one.
func (s *pairs) isCopy(p *BatchDetector, i int) bool {
	if s.lines == nil || p.times[i] == calendar.NoTime {
		return false
	}
	c, known := s.find(p.tag(i))
	return known && c.sort == fitPacket && distance(c.time, p.times[i]) <= uint64(s.cfg.window)
}

// note takes note of a judged packet.
func (s *pairs) note(p *BatchDetector, i int) {
	unfit := p.unfit.is(i)
	switch {
	case unfit:
		s.begin()
	case s.left == 0:
		return
	case !s.cfg.often:
		s.left--
	}
	if isSet(p.drop, i) || p.times[i] == calendar.NoTime {
		return
	}
	c, known := s.find(p.tag(i))
	if known && !unfit && c.sort == unfitPacket && s.cfg.hold > 0 && distance(c.time, p.times[i]) <= uint64(s.cfg.hold) {
		setBit(p.drop, i)
		setBit(p.paired, i)
	}
	*c = pairCell{tag: p.tag(i), time: p.times[i], sort: fitPacket}
	if unfit {
		c.sort = unfitPacket
	}
}

// begin begins the search.
func (s *pairs) begin() {
	s.left = pairPatience
	if s.lines == nil {
		s.lines = make([][pairCells]pairCell, pairLines)
	}
}

// find returns the cell with a tag, else the one that it may take.
func (s *pairs) find(tag uint64) (c *pairCell, known bool) {
	line := &s.lines[tag%pairLines]
	c = &line[0]
	for i := range line {
		switch cell := &line[i]; {
		case cell.sort == noPacket:
			return cell, false
		case cell.tag == tag:
			return cell, true
		case cell.time < c.time:
			c = cell
		}
	}
	return c, false
}
