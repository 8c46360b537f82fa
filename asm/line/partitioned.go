// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// PartitionedParams gives the number of slices of a line that an element is set in.
type PartitionedParams struct {
	// K is the number of neighboring slices, 1 to layout.MaxPartitionedK.
	K int
	// Refresh makes a found element set its bits again.
	Refresh bool
}

// Generations returns for how many generations after its own an element is found: the
// number of remaining slices.
func (p PartitionedParams) Generations() int { return layout.PartitionedSlices - p.K }

// PartitionedCounts are the counts that TestAndSetPartitioned adds to.
type PartitionedCounts struct {
	// Missed counts the elements that were not found.
	Missed uint64
}

// TestAndSetPartitioned looks up digests, in order, in the age-partitioned Bloom filter of
// Shtul, Baquero and Almeida ("Age-Partitioned Bloom Filters", 2020), with all slices of an
// element in one line. It sets bit i of seen if K neighboring slices have the bits of
// element i, and clears the bits of the others in the words that cover len(digests)
// elements. It sets the bits of an element that is not found, and with Refresh of each
// element, in the K youngest slices. layout/bits.go has a picture of the slices.
//
// ticks[i] is the generation of element i; it counts modulo 2^32. An element is found in
// its generation and in the 60-K after it. One generation later one of its slices is gone,
// so it is found if another element set that bit, and so on, for K generations. An element
// whose tick is layout.NoTick is not found, and not set.
//
// Element i lives in line floor(digests[i][1] * len(lines) / 2^64). The line forgets
// slices that are too old when the element comes. An element that is earlier than the
// clock of its line, by fewer than 60 generations, counts as if it came with the clock.
// An element that is earlier still empties the line, and so does one that is 60
// generations later.
//
// The bit of an element in slice s is b mod 8, where b is byte s mod 8 of high ^ low, and
// high and low are the halves of the product (digests[i][0] ^ c) * 0xd6e8feb86659fd93, for
// the constant c of word s / 8 (see partitionedSeeds).
//
// It takes constant time for each element and does not allocate. It panics if seen or ticks
// are too short, lines is empty, or K is out of range.
func TestAndSetPartitioned(lines []layout.Line, seen []uint64, digests []digest.Digest, ticks []int64, p PartitionedParams, c *PartitionedCounts) {
	n := len(digests)
	checkArguments("TestAndSetPartitioned", lines, seen, n)
	switch {
	case len(ticks) < n:
		panic("line: TestAndSetPartitioned: ticks shorter than digests")
	case p.K < 1 || p.K > layout.MaxPartitionedK:
		panic("line: TestAndSetPartitioned: K out of range")
	case n == 0:
		return
	}
	var w pipeline
	w.elements = elements{kind: inLines, count: n, digests: digests}
	w.begin(lines)
	for at := range seen[:bitWords(n)] {
		current, ahead, size := w.next()
		touchLines(lines, ahead.offset[:])
		seen[at] = 0
		for i, tick := range ticks[64*at:][:size] {
			if tick == layout.NoTick {
				continue
			}
			if p.testAndSet(&lines[current.offset[i&63]/64], current.low[i&63], uint32(tick)) {
				seen[at] |= 1 << (i & 63)
			} else {
				c.Missed++
			}
		}
	}
}

const (
	partitionedRing = 1<<layout.PartitionedSlices - 1
	partitionedMix  = 0xd6e8feb86659fd93
	clockMask       = 0xffffffff << 32 // of the last word
)

// partitionedSeeds are the multiples of 2^64 over the golden ratio.
var partitionedSeeds = func() (seeds [8]uint64) {
	for i := range seeds {
		seeds[i] = uint64(i+1) * golden
	}
	return seeds
}()

// testAndSet looks up one element.
func (p PartitionedParams) testAndSet(line *[8]uint64, low uint64, now uint32) bool {
	if clock := uint32(line[7] >> 32); clock != now {
		now = forgetSlices(line, clock, now)
	}
	var pattern [8]uint64
	has := uint64(0)
	for w := range pattern {
		pattern[w] = partitionedBits(low ^ partitionedSeeds[w])
		has |= nonZeroBytes(line[w]&pattern[w]) << (8 * w)
	}
	// In the words below the youngest slice is the top bit, and the oldest is bit 0.
	youngest := uint(now % layout.PartitionedSlices)
	found := hasRun(turnRing(has&partitionedRing, layout.PartitionedSlices-1-youngest), uint(p.K))
	if found && !p.Refresh {
		return true
	}
	set := turnRing(partitionedRing&^(partitionedRing>>p.K), youngest+1)
	for w := range pattern {
		line[w] |= pattern[w] & spreadBytes(set>>(8*w)&0xff)
	}
	return found
}

// forgetSlices sets the clock of a line to now, unless that is a little earlier, and
// empties the slices that begin anew. It returns the clock.
func forgetSlices(line *[8]uint64, clock, now uint32) uint32 {
	if clock-now < layout.PartitionedSlices {
		return clock
	}
	if begun := now - clock; begun < layout.PartitionedSlices {
		youngest := uint(now % layout.PartitionedSlices)
		// A clock that wraps around does not go on where it was in the ring.
		if uint(clock%layout.PartitionedSlices+begun)%layout.PartitionedSlices == youngest {
			gone := turnRing(partitionedRing&^(partitionedRing>>begun), youngest+1)
			for w := range line {
				line[w] &^= spreadBytes(gone >> (8 * w) & 0xff)
			}
			line[7] = line[7]&^clockMask | uint64(now)<<32
			return now
		}
	}
	*line = layout.Line{7: uint64(now) << 32}
	return now
}

// turnRing moves each bit of a ring of slices on by n places, up to the number of slices.
func turnRing(ring uint64, n uint) uint64 {
	return (ring<<n | ring>>(layout.PartitionedSlices-n)) & partitionedRing
}

// hasRun reports whether there are k neighboring bits.
func hasRun(x uint64, k uint) bool {
	n := uint(1)
	for ; 2*n <= k; n *= 2 {
		x &= x >> n
	}
	return x&(x>>(k-n)) != 0
}

const (
	everyByte = 0x0101010101010101
	everyLow  = 0x7f * everyByte
)

// partitionedBits returns a bit of each byte, which a hash of x chooses.
func partitionedBits(x uint64) uint64 {
	high, low := bits.Mul64(x, partitionedMix)
	hash := high ^ low
	p := uint64(everyByte)
	p ^= (p ^ p<<1) & ((hash & everyByte) * 0xff)
	p ^= (p ^ p<<2) & ((hash >> 1 & everyByte) * 0xff)
	p ^= (p ^ p<<4) & ((hash >> 2 & everyByte) * 0xff)
	return p
}

// nonZeroBytes returns a bit for each byte that is not zero.
func nonZeroBytes(x uint64) uint64 {
	tops := (x&everyLow + everyLow | x) >> 7 & everyByte
	return tops * 0x0102040810204080 >> 56
}

// spreadBytes sets the bytes whose bits are set in x, which has eight.
func spreadBytes(x uint64) uint64 {
	one := x * everyByte & 0x8040201008040201
	return (one&everyLow + everyLow | one) >> 7 & everyByte * 0xff
}
