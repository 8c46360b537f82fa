// SPDX-License-Identifier: Apache-2.0

//go:build (amd64 || arm64) && !purego

package line

import "github.com/flowdedup/flowdedup/layout"

// stableLanes has the vector kernels' tables for one K of stable lines. A line is eight
// lanes of 64 bits.
//
// A word chooses a bit in each part. A kernel computes a byte for each part from it, and
// compares the byte with all lanes at once: the byte XOR the lane's flip is the number of
// the bit in the lane, or 64 and more if the bit is in another lane. A byte distinguishes
// four lanes, so a line of one part counts as a line of four parts, three of which do not
// have the bit. For part j the element's own word makes byte 2*j, and its random word
// byte 2*j+1.
//
// A choice of a byte is among the 16 bytes of two neighboring lanes.
//
// With three parts, two lanes belong to two parts each, so a lane has a first and a last
// part. Otherwise these are the same.
type stableLanes struct {
	flip               [8]uint64
	own, ownLast       [8]uint64 // choices of a byte: the byte of the lane's part
	random, randomLast [8]uint64
	spread             [2]uint64 // choice of bytes: each part's 16 bits of a word
	size               uint64    // bits of a part; here and below in each 16 bits
	start              uint64    // added to the number of a bit in its part to make the byte
	most               uint64    // the greatest byte
	first              uint64    // the part's first bit
	k                  uint64
	split              uint64    // not 0 if lanes belong to two parts
	shared             [8]uint64 // 1 in such lanes
}

var stableLanesOf = func() (of [layout.MaxStableParts + 1]stableLanes) {
	for k := range of[1:] {
		of[k+1] = newStableLanes(k + 1)
	}
	return of
}()

func newStableLanes(k int) (l stableLanes) {
	l.k = uint64(k)
	l.placeLanes()
	l.placeParts()
	return l
}

// placeLanes sets the fields that have a word for each lane.
func (l *stableLanes) placeLanes() {
	parts, width := int(l.k), 4
	if parts == 1 {
		parts = 4
	}
	if parts == 4 {
		width = 2 // lanes of a part
	}
	size := layout.LineBits / parts
	for lane := range 8 {
		l.flip[lane] = uint64(lane%width) * 64 * 0x0101010101010101
		first, last := 64*lane/size, min((64*lane+63)/size, parts-1)
		l.own[lane], l.ownLast[lane] = choiceOf(lane, 2*first), choiceOf(lane, 2*last)
		l.random[lane], l.randomLast[lane] = choiceOf(lane, 2*first+1), choiceOf(lane, 2*last+1)
		l.shared[lane] = uint64(last - first)
		l.split |= l.shared[lane]
	}
}

// placeParts sets the fields that have 16 bits for each part.
func (l *stableLanes) placeParts() {
	size := layout.LineBits / int(l.k)
	for j := range 4 {
		from, start, most, first := 2*j, 0, 0xffff, j*size
		switch l.k {
		case 1:
			from, start, most, first = 0, -128*j, 0x80, 0
		case 3:
			start = j * size
		}
		of := func(v int) uint64 { return uint64(v) & 0xffff << (16 * j) }
		l.size |= of(size)
		l.start |= of(start)
		l.most |= of(most)
		l.first |= of(first)
		l.spread[0] |= of(from | (from+1)<<8)
		l.spread[1] |= of((from + 8) | (from+9)<<8)
	}
}

// stableRuns has the runs that begin at each bit of a byte, each twice in 128 bytes. The
// 64 bytes from -b mod 64 on are a line whose run begins in byte b.
type stableRuns [8][16]uint64

// fill fills the table from the run that begins at bit 0.
func (runs *stableRuns) fill(run uint64) {
	for bit := range runs {
		low, high := run<<bit, run>>1>>(63-bit)
		runs[bit][0], runs[bit][1] = low, high
		runs[bit][8], runs[bit][9] = low, high
	}
}

// stableKernel is the state of a call of TestAndSetStable.
type stableKernel struct {
	rule  stableRule
	lines []layout.Line
	runs  stableRuns
}

func newStableKernel(p StableParams, lines []layout.Line) (k stableKernel) {
	k.rule, k.lines = newStableRule(p, len(lines)), lines
	k.runs.fill(k.rule.run)
	return k
}
