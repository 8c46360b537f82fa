//go:build amd64 && !purego

package asm

import "math"

// bitLineLanes is what the vector kernels of bit lines know of one K. A line is
// eight lanes of 64 bits, and as parts have at least 128 bits a lane belongs to
// one part or two. In each lane the four 16-bit words of a digest become the
// bits that they choose in the four parts, counted from the start of the line
// (inLine) or, modulo 2^16, of the lane (inLane). A choice of bytes then picks
// for each lane the word of the first and of the last part that it belongs to.
type bitLineLanes struct {
	inLine, inLane [8][4]uint16
	first, last    [8][8]uint8
	start          [8]uint64 // the first bit of each lane
	even, odd      [8]uint64 // the halves of eight digests
	size           uint64    // bits of a part
	split          uint64    // 1 if a lane belongs to two parts
}

var bitLineLanesOf = func() (of [MaxBitParts + 1]bitLineLanes) {
	for k := 1; k <= MaxBitParts; k++ {
		size := lineBits / k
		of[k].size = uint64(size)
		for lane := range 8 {
			of[k].start[lane] = uint64(64 * lane)
			of[k].even[lane], of[k].odd[lane] = uint64(2*lane), uint64(2*lane+1)
			for j := range 4 {
				of[k].inLine[lane][j] = uint16(j * size)
				of[k].inLane[lane][j] = uint16(j*size - 64*lane)
			}
			first, last := min(64*lane/size, k-1), min((64*lane+63)/size, k-1)
			of[k].first[lane] = wordOf(lane, first)
			of[k].last[lane] = wordOf(lane, last)
			if first != last {
				of[k].split = 1
			}
		}
	}
	return of
}()

// wordOf returns the choice of bytes that extends 16-bit word j of a lane to the
// whole lane. Bytes are chosen among the 16 of two neighbouring lanes.
func wordOf(lane, j int) [8]uint8 {
	const zero = 0x80
	at := uint8(lane%2*8 + 2*j)
	return [8]uint8{at, at + 1, zero, zero, zero, zero, zero, zero}
}

func testAndSetBitLines(lines [][8]uint64, seen []uint64, digests []Digest, positions []uint64, p BitLineParams, c *BitLineCounts) {
	n := len(digests)
	// The kernels multiply by 32 bits of the number of lines: more are 256 GiB.
	if level < levelAVX512 || n == 0 || len(lines) > math.MaxUint32 {
		testAndSetBitLinesGeneric(lines, seen, digests, positions, p, c)
		return
	}
	lanes := &bitLineLanesOf[p.K]
	switch p.Method {
	case BitsSBF:
		run := ^uint64(0) >> (64 - p.P)
		c.Ones += testAndSetSBFAVX512(&lines[0], len(lines), &seen[0], &digests[0], &positions[0], n, lanes, run)
	case BitsRSBF:
		all := lanes.size * uint64(len(lines))
		c.Ones += testAndSetRSBFAVX512(&lines[0], len(lines), &seen[0], &digests[0], &positions[0], n, lanes, all)
	case BitsBSBF:
		c.Ones += testAndSetBSBFAVX512(&lines[0], len(lines), &seen[0], &digests[0], &positions[0], n, lanes)
	case BitsBSBFSD:
		all := lanes.size * uint64(p.K)
		c.Ones += testAndSetBSBFSDAVX512(&lines[0], len(lines), &seen[0], &digests[0], &positions[0], n, lanes, all)
	case BitsRLBSBF:
		c.Ones += testAndSetRLBSBFAVX512(&lines[0], len(lines), &seen[0], &digests[0], &positions[0], n, lanes)
	}
}

// The kernels return by how many the bits set became more, modulo 2^64.

// testAndSetSBFAVX512 clears the bits set in run, from a random one on.
//
//go:noescape
func testAndSetSBFAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, lanes *bitLineLanes, run uint64) (added uint64)

// testAndSetRSBFAVX512 takes the bits of a part in all lines.
//
//go:noescape
func testAndSetRSBFAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, lanes *bitLineLanes, all uint64) (added uint64)

//go:noescape
func testAndSetBSBFAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, lanes *bitLineLanes) (added uint64)

// testAndSetBSBFSDAVX512 takes the bits of all parts of a line.
//
//go:noescape
func testAndSetBSBFSDAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, lanes *bitLineLanes, all uint64) (added uint64)

//go:noescape
func testAndSetRLBSBFAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, lanes *bitLineLanes) (added uint64)
