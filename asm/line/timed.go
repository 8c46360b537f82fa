// SPDX-License-Identifier: Apache-2.0

package line

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// TimedParams gives the format of the cells of timed rows, and defines which elements are
// copies.
type TimedParams struct {
	// FPBits, PointBits and TickBits are the widths of a cell's three fields.
	// Their sum is 85; FPBits is 21 to 63, PointBits at most 32, TickBits 2 to 63.
	FPBits, PointBits, TickBits uint
	// Window is the greatest distance of a copy from the kept element in ticks, 0 to
	// 2^(TickBits-1) - 1.
	Window int64
	// Origin is the tick at which era 0 begins; eras are 2^(TickBits-1) long.
	Origin int64
	// Refresh makes a copy renew the memory of the kept element.
	Refresh bool
	// Across restricts copies to elements of another point.
	Across bool
	// Now is the present time of the stream, for rows with spare lines. The wrong time of
	// one element must not make it wrong. layout.NoTick stands for an unknown time.
	Now int64
	// Slack is how far, in ticks, elements may lie behind Now without harm: a cell goes to
	// a spare line if it is within Window + Slack of Now.
	Slack int64
}

// TimedRows are the lines of a filter.
type TimedRows struct {
	// Lines are the lines that elements choose from.
	Lines []layout.Line
	// Spare are the lines for cells that their own line has no room for, or nil for none.
	Spare []layout.Line
}

// TimedCounts are the counts that TestAndSetTimed adds to.
type TimedCounts struct {
	// Inserted counts the elements that took an empty cell or a cell with another
	// fingerprint.
	Inserted uint64
	// EvictedLive counts the cells that were forgotten although they were within the
	// window of the element that pushed them out. In rows with spare lines it also counts
	// cells within the window of Now.
	EvictedLive uint64
	// Spilled counts the cells that went to a spare line, and Asked the elements that were
	// looked up in a spare line.
	Spilled, Asked uint64
}

// TestAndSetTimed sets bit i of seen if element i is a copy of an element that rows
// remember. If it is not, it remembers the element and clears the bit; it clears the bits
// after the last element in the last word. It takes elements in order, so elements of one
// call can be copies of each other. ticks[i] is the time of element i, and points[i] the
// point where it was seen. Points are not read if PointBits is 0. An element whose tick is
// layout.NoTick is no copy, and rows do not remember it.
//
// Element i lives in line floor(digests[i][1] * len(Lines) / 2^64). Its fingerprint is
// the top FPBits bits of digests[i][0] XOR era * 0x9e3779b97f4a7c15, where era is
// floor((ticks[i] - Origin) / 2^(TickBits-1)), all modulo 2^64. Fingerprint 0 stands for
// an empty cell, so 1 takes its place. layout/rows.go has a picture of the cells.
//
// Times are stored modulo 2^TickBits and compared the short way round. Nothing has to be
// swept, elements may come in any order, and a wrong time does no harm to other elements.
// Times that are a multiple of 2^TickBits apart look equal, but belong to different eras
// and so have different fingerprints. Elements on the two sides of a border between eras
// are never copies of each other here: TestAndSetTimedAround handles those.
//
// Let r be the time of the cell that holds the element's fingerprint. The element is a
// copy if |t - r| <= Window and, with Across, the cell has another point. A copy changes
// nothing; with Refresh it moves the cell to the front, with the later of both times. Any
// other element goes to the front with its own point and time, and replaces the cell with
// its fingerprint, or else the last cell. A fingerprint has one cell, so the element that
// was kept last counts.
//
// Points below 2^PointBits - 1 are stored as they are. Greater points are hashed to
// PointBits bits. Two points with the same bits count as one: with Across such an element
// is no copy.
//
// In rows with spare lines, a cell that is pushed out and may still have copies goes to a
// spare line: a cell within Window of the element that pushes it out, or within Window +
// Slack of Now. Then the bit layout.TimedSpilled of its own line is set. Neighbours share
// a spare line: line i has number floor(i * s / 2^64), where s is floor(len(Spare) * 2^64
// / len(Lines)), or 2^64 - 1 if that is less. There the cell goes to the front, and
// replaces the cell with its fingerprint, else the oldest. An element whose line has the
// bit but not its fingerprint looks for it in the spare line. A cell that it finds there
// counts like a cell of its own line, and leaves the spare line if the element goes to
// the front. If all cells there are too old to have copies, the spare line is emptied,
// and the bit cleared. Verdicts, lines and counts are as if each element had a call of
// its own.
//
// It takes constant time for each element and does not allocate. It panics if seen, ticks
// or points are too short, there are no Lines, or p violates TimedParams.
func TestAndSetTimed(rows TimedRows, seen []uint64, digests []digest.Digest, ticks []int64, points []uint32, p *TimedParams, c *TimedCounts) {
	p.checkArguments(rows.Lines, seen, digests, ticks, points)
	if p.PointBits == 0 {
		points = nil
	}
	testAndSetTimed(rows, seen[:bitWords(len(digests))], digests, ticks, points, p, c)
}

// checkArguments panics unless slices cover the elements and p is valid.
func (p *TimedParams) checkArguments(lines []layout.Line, seen []uint64, digests []digest.Digest, ticks []int64, points []uint32) {
	p.check()
	checkArguments("TestAndSetTimed", lines, seen, len(digests))
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
	case p.Slack < 0:
		panic("line: TestAndSetTimed: negative slack")
	}
}

// golden32 spreads points that do not fit. It is 2^32 over the golden ratio.
const golden32 = 0x9e3779b1

// reducePoint maps a point to width bits.
func reducePoint(point uint32, width uint) uint64 {
	if uint64(point) < 1<<width-1 {
		return uint64(point)
	}
	return uint64(point*golden32) >> (32 - width)
}
