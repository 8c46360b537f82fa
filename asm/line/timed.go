package line

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// TimedParams says what the cells of timed rows hold and when an element is a
// copy.
type TimedParams struct {
	// FPBits, PointBits and TickBits are the widths of a cell's three fields.
	// Their sum is 85; FPBits is 21 to 63, PointBits at most 32, TickBits 2 to 63.
	FPBits, PointBits, TickBits uint
	// Window is the greatest distance of a copy to the kept element, in ticks:
	// 0 to 2^(TickBits-1) - 1.
	Window int64
	// Origin is the tick at which era 0 begins; eras are 2^(TickBits-1) long.
	Origin int64
	// Refresh makes a copy renew the memory of the element that it copies.
	Refresh bool
	// Across makes only elements of another point copies.
	Across bool
}

// TimedCounts is what TestAndSetTimed adds to.
type TimedCounts struct {
	// Inserted counts the elements that took a cell which did not hold their
	// fingerprint before.
	Inserted uint64
	// EvictedLive counts the cells that were pushed out by newer elements of
	// their line although they were within the window of those.
	EvictedLive uint64
}

// TestAndSetTimed sets bit i of seen if element i is a copy of an element that
// lines remember, remembers it if not, and clears the bits of the others in
// the words that cover len(digests) elements. Elements are taken in order, so
// those of one call are copies of each other too. The time of element i is
// ticks[i], the place where it was seen points[i]. Points are not read if
// PointBits is 0.
//
// Element i lives in the line floor(digests[i][1] * len(lines) / 2^64), with a
// fingerprint of the top FPBits of digests[i][0] XOR era * 0x9e3779b97f4a7c15,
// where era is floor((ticks[i] - Origin) / 2^(TickBits-1)), all modulo 2^64.
// Elements with fingerprint 0, which stands for an empty cell, take 1 in its place. What a
// cell looks like is said beside TimedCells.
//
// Times are kept modulo 2^TickBits and compared the short way round. Nothing
// has to be swept out, elements may come in any order, and a wild time costs
// no other element anything. Times that are a multiple of 2^TickBits apart look
// alike, but are of different eras, so the fingerprints tell them from each
// other. Here elements on both sides of the border between two eras are never
// copies of each other; TestAndSetTimedAround sees to those.
//
// With r the time of the cell that holds the element's fingerprint, it is a
// copy if |t - r| <= Window and, with Across, the cell's point is another one.
// A copy changes nothing, or, with Refresh, moves the cell to the front with
// the later of both times. Every other element is put in front with its own
// point and time, in place of the cell with its fingerprint or else of the last
// one. There is one cell for a fingerprint, so what counts is the element that
// was kept last.
//
// Points below 2^PointBits - 1 stand for themselves and greater ones are hashed
// to PointBits bits. Two that meet count as the same point: with Across the
// element stays.
//
// It panics if seen, ticks or points are too short, lines is empty, or p is not
// as TimedParams asks.
func TestAndSetTimed(lines []layout.Line, seen []uint64, digests []digest.Digest, ticks []int64, points []uint32, p *TimedParams, c *TimedCounts) {
	p.checkArguments(lines, seen, digests, ticks, points)
	if p.PointBits == 0 {
		points = nil
	}
	testAndSetTimed(lines, seen[:bitWords(len(digests))], digests, ticks, points, p, c)
}

// checkArguments panics unless slices cover the elements and p is as it must be.
func (p *TimedParams) checkArguments(lines []layout.Line, seen []uint64, digests []digest.Digest, ticks []int64, points []uint32) {
	p.check()
	checkArguments("TestAndSetTimed", lines, seen, nil, len(digests))
	if len(ticks) < len(digests) || p.PointBits > 0 && len(points) < len(digests) {
		panic("line: TestAndSetTimed: ticks or points shorter than digests")
	}
}

func (p *TimedParams) check() {
	switch {
	case p.FPBits < 21 || p.FPBits > 63 || p.PointBits > 32 || p.TickBits < 2 || p.TickBits > 63,
		p.FPBits+p.PointBits+p.TickBits != layout.TimedCellBits:
		panic("line: TestAndSetTimed: fields do not make a cell")
	case p.Window < 0 || p.Window > 1<<(p.TickBits-1)-1:
		panic("line: TestAndSetTimed: window out of range")
	}
}

// golden32 spreads points that do not fit: 2^32 over the golden ratio.
const golden32 = 0x9e3779b1

// reducePoint maps a point to width bits.
func reducePoint(point uint32, width uint) uint64 {
	if uint64(point) < 1<<width-1 {
		return uint64(point)
	}
	return uint64(point*golden32) >> (32 - width)
}
