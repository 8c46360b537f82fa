//go:build (amd64 || arm64) && !purego

package line

import "github.com/flowdedup/flowdedup/layout"

// stableLanes is what the vector kernels of stable lines know of one K. A line is
// eight lanes of 64 bits.
//
// Of a word, as it chooses a bit in each part, a kernel makes a byte for each part
// and compares it with all lanes at once: the byte, XORed with the lane's flip, is the
// number of the bit in the lane, and 64 or more where the bit is in another lane. As
// a byte tells four lanes apart, a line of one part is taken for one of four, in
// three of which the bit is nowhere. What an element's own word and the random one
// choose are bytes 2*j and 2*j+1 for part j.
//
// A choice of a byte is among the 16 of two neighbouring lanes.
//
// With three parts two lanes belong to two parts each, so a lane has a first
// and a last one. Else these are the same.
type stableLanes struct {
	flip               [8]uint64
	own, ownLast       [8]uint64 // choices of a byte: that of the lane's part
	random, randomLast [8]uint64
	spread             [2]uint64 // choice of bytes: each part's 16 bits of a word
	size               uint64    // bits of a part; here and below in each 16 bits
	start              uint64    // what makes a byte of a part's bit, when added
	most               uint64    // the greatest byte
	first              uint64    // the part's first bit
	k                  uint64
	split              uint64    // not 0 with lanes that belong to two parts
	shared             [8]uint64 // 1 in these lanes
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

// placeLanes says of each lane what concerns it.
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

// placeParts says of each part, in 16 bits, what concerns it.
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

// stableRuns has the runs that begin at the bits of a byte, each twice in a row of 128
// bytes: the 64 bytes from -b mod 64 on are a line whose run begins in byte b.
type stableRuns [8][16]uint64

// fill takes the run of bit 0.
func (runs *stableRuns) fill(run uint64) {
	for bit := range runs {
		low, high := run<<bit, run>>1>>(63-bit)
		runs[bit][0], runs[bit][1] = low, high
		runs[bit][8], runs[bit][9] = low, high
	}
}

// stableKernel is what a call knows of its lines.
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
