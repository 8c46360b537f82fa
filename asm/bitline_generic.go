package asm

import "math/bits"

// bitLineRule is BitLineParams as the loop wants them.
type bitLineRule struct {
	method BitMethod
	k      uint
	size   uint64 // bits of a part
	all    uint64 // bits of a part in all lines
	run    uint64 // P ones
}

func newBitLineRule(p BitLineParams, lines int) bitLineRule {
	size := uint64(lineBits / p.K)
	return bitLineRule{
		method: p.Method,
		k:      uint(p.K),
		size:   size,
		all:    size * uint64(lines),
		run:    ^uint64(0) >> ((64 - p.P) & 63),
	}
}

func testAndSetBitLinesGeneric(lines [][8]uint64, seen []uint64, digests []Digest, positions []uint64, p BitLineParams, c *BitLineCounts) {
	b := newBitLineRule(p, len(lines))
	var index [64]uint64
	for w := 0; len(digests) > 0; w++ {
		n := min(64, len(digests))
		touchLines(lines, digests[:n], &index)
		var word uint64
		for i := range digests[:n] {
			if b.testAndSet(&lines[index[i&63]], digests[i][0], positions[i], c) {
				word |= 1 << (i & 63)
			}
		}
		seen[w] = word
		digests, positions = digests[n:], positions[n:]
	}
}

// testAndSet takes one element. It branches on the verdict: to do all the work for
// elements that are seen too costs more than the wrong guesses of the branch
// predictor.
func (b *bitLineRule) testAndSet(line *[8]uint64, low, position uint64, c *BitLineCounts) (isSeen bool) {
	isSeen = b.holds(line, low)
	if isSeen && b.method != BitsRSBF {
		return true
	}
	r1 := draw(low, position)
	if b.method == BitsRSBF {
		chance, _ := bits.Mul64(drawNext(r1), position)
		if chance >= b.all {
			return isSeen
		}
	}
	cleared := b.forget(line, r1)
	c.Ones += b.set(line, low) - cleared
	return isSeen
}

// at returns the bit that part j's 16 bits of a word choose.
func (b *bitLineRule) at(word uint64, j uint) uint64 {
	return uint64(j)*b.size + word>>(16*j&63)&0xffff*b.size>>16
}

func (b *bitLineRule) holds(line *[8]uint64, low uint64) bool {
	all := uint64(1)
	for j := range b.k {
		at := b.at(low, j)
		all &= line[at/64&7] >> (at & 63)
	}
	return all != 0
}

// set sets an element's bits and returns how many were clear.
func (b *bitLineRule) set(line *[8]uint64, low uint64) (added uint64) {
	for j := range b.k {
		at := b.at(low, j)
		added += ^line[at/64&7] >> (at & 63) & 1
		line[at/64&7] |= 1 << (at & 63)
	}
	return added
}

// forget clears what the method draws and returns how many bits were set.
func (b *bitLineRule) forget(line *[8]uint64, r1 uint64) (cleared uint64) {
	switch b.method {
	case BitsSBF:
		return clearRun(line, r1>>55, b.run)
	case BitsBSBFSD:
		at, _ := bits.Mul64(r1, b.size*uint64(b.k))
		return clearBit(line, at, 1)
	case BitsRLBSBF:
		return b.clearByLoad(line, r1)
	}
	for j := range b.k {
		cleared += clearBit(line, b.at(r1, j), 1)
	}
	return cleared
}

// clearByLoad clears the bit of each part that r1 chooses if the one that r2
// chooses is set.
func (b *bitLineRule) clearByLoad(line *[8]uint64, r1 uint64) (cleared uint64) {
	r2 := drawNext(r1)
	for j := range b.k {
		other := b.at(r2, j)
		cleared += clearBit(line, b.at(r1, j), line[other/64&7]>>(other&63)&1)
	}
	return cleared
}

// clearBit clears a bit if really is 1 and not 0, and returns how many that were
// set.
func clearBit(line *[8]uint64, at, really uint64) (cleared uint64) {
	cleared = line[at/64&7] >> (at & 63) & really
	line[at/64&7] ^= cleared << (at & 63)
	return cleared
}

// clearRun clears the bits that are set in run, which begins at bit at of the
// line, and returns how many were set.
func clearRun(line *[8]uint64, at, run uint64) (cleared uint64) {
	low, high := run<<(at&63), run>>1>>(63-at&63)
	first, second := &line[at/64&7], &line[(at/64+1)&7]
	cleared = uint64(bits.OnesCount64(*first&low) + bits.OnesCount64(*second&high))
	*first &^= low
	*second &^= high
	return cleared
}
